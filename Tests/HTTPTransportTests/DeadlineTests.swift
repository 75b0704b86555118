import Dispatch
import Glibc
import QueueModel
import Synchronization
import Testing

@testable import HTTPTransport

@Suite("Deadlines", .timeLimit(.minutes(1)))
struct DeadlineTests {
  private static let body: Int64 = 8_000_000

  private static func file() -> TemporaryFile {
    let file = TemporaryFile()
    file.truncate(to: body)
    return file
  }

  @Test("D22: connectMs ends a connection that does not come about")
  func connect() async throws {
    let port = OddPort(.full)
    let result = try await Client().perform(
      .post, "http://127.0.0.1:\(port.number)/", timeouts: Timeouts(connectMs: 150))
    #expect(result.failure == TransferFailure(.beforeRequest, "connectMs: no connection within 150 ms"))
    #expect(!result.requestWentWhole)
  }

  @Test("D22: connectMs counts the TLS handshake too")
  func handshake() async throws {
    let server = RawServer { $0.readToEnd() }
    let result = try await Client().perform(
      .post, "https://127.0.0.1:\(server.port)/", timeouts: Timeouts(connectMs: 500))
    #expect(result.failure == TransferFailure(.beforeRequest, "connectMs: no connection within 500 ms"))
    #expect(await server.peers.first?.ended.isSignalled() == true)
  }

  @Test("D51, D53: the time for which a limit holds a short body back is not the server's")
  func heldBack() async throws {
    let held = Atomic<Int64>(0)
    let server = RawServer { peer in
      let request = try peer.readHead()
      let begin = MonotonicTime.now
      try peer.readBody(request.contentLength ?? 0)
      held.store(MonotonicTime.now - begin, ordering: .relaxed)
      try peer.answer("200 OK")
    }
    let client = try Client()
    var bandwidth = Bandwidth()
    bandwidth.total = 1000
    client.transport.limit(bandwidth)
    let body = [UInt8](repeating: 0, count: 1000)
    let result = try await client.perform(.post, server.url(), body: .bytes(body))
    let answeredAfter = try #require(result.answeredAfterMs)
    let heldMs = held.load(ordering: .relaxed)
    #expect(heldMs > 500)
    #expect(answeredAfter < heldMs, "\(answeredAfter) of \(heldMs)")
  }

  @Test("A-CONN-05, D22: a peer that stops reading ends the attempt at stallMs; its slot is free")
  func stallsWhileSending() async throws {
    let server = RawServer(receiveBuffer: 65_536) { peer in
      let request = try peer.readHead()
      if request.line.contains("/stall") {
        try peer.discard(65_536)
        _ = peer.ended.wait(timeout: .now() + 20)
      } else {
        try peer.readBody(request.contentLength ?? 0)
        try peer.answer("200 OK")
      }
    }
    let file = DeadlineTests.file()
    let client = try Client()
    let result = try await client.perform(
      .put, server.url("/stall"), body: file.body(length: DeadlineTests.body),
      timeouts: Timeouts(stallMs: 1000))
    server.peers.first?.ended.signal()
    #expect(result.answer == nil)
    #expect(result.failure == TransferFailure(.afterRequestBegan, "stallMs: no byte for 1000 ms"))
    #expect(!result.requestWentWhole)
    // libcurl has filled a send queue of megabytes by now; only what the peer's kernel took is sent.
    #expect(result.bytesSent >= 65_536)
    #expect(result.bytesSent < 1_000_000)
    let next = try await client.perform(.put, server.url("/next"), body: .bytes([1]))
    #expect(next.answer?.status == 200)
  }

  @Test("A-CONN-06, D22: a slow transfer has no total limit, and responseMs begins behind its last byte")
  func slow() async throws {
    let server = RawServer(receiveBuffer: 65_536) { peer in
      let request = try peer.readHead()
      var left = request.contentLength ?? 0
      while left > 0 {
        // The pace of the link; longer than responseMs in all, shorter than stallMs at once.
        usleep(20_000)
        try peer.discard(min(left, 100_000))
        left -= 100_000
      }
      try peer.answer("200 OK")
    }
    let file = DeadlineTests.file()
    let client = try Client()
    let attempt = try client.start(
      .put, server.url(), body: file.body(length: DeadlineTests.body),
      timeouts: Timeouts(stallMs: 900, responseMs: 1000))
    let result = await client.result(attempt)
    #expect(result.answer?.status == 200)
    #expect(result.failure == nil)
    let progress = client.progress(attempt)
    #expect(progress.count > 5)
    #expect(progress == progress.sorted())
    #expect(Set(progress).count == progress.count)
  }

  @Test("D22: responseMs ends the wait for an answer, stallMs does not")
  func noAnswer() async throws {
    let server = RawServer { peer in
      try peer.readRequest()
      peer.readToEnd()
    }
    let result = try await Client().perform(
      .post, server.url(), body: .bytes(pattern(1000)), timeouts: Timeouts(stallMs: 100, responseMs: 400))
    let message = "responseMs: no answer within 400 ms after the request"
    #expect(result.failure == TransferFailure(.afterRequestBegan, message))
    #expect(result.answer == nil)
    #expect(result.requestWentWhole)
    #expect(result.bytesSent == 1000)
  }

  @Test("D22: interim answers do not stretch responseMs")
  func interimAnswers() async throws {
    let server = RawServer { peer in
      try peer.readRequest()
      while true {
        try peer.send("HTTP/1.1 102 Processing\r\n\r\n")
        usleep(20_000)
      }
    }
    let result = try await Client().perform(.post, server.url(), timeouts: Timeouts(responseMs: 300))
    #expect(result.failure?.message == "responseMs: no answer within 300 ms after the request")
    #expect(result.answer == nil)
  }

  @Test("D22: an answer that stands still ends at stallMs and is cut")
  func stallsWhileAnswering() async throws {
    let server = RawServer { peer in
      try peer.readRequest()
      try peer.send("HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\n01234")
      peer.readToEnd()
    }
    let result = try await Client().perform(.post, server.url(), timeouts: Timeouts(stallMs: 200))
    #expect(result.failure?.message == "stallMs: no byte for 200 ms")
    #expect(result.answer?.status == 200)
    #expect(result.answer?.completeness == .cut)
    #expect(result.answer?.body == Array("01234".utf8))
    #expect(result.requestWentWhole)
  }

  @Test("D22: a head that stands still ends at stallMs and is none")
  func stallsInHead() async throws {
    let server = RawServer { peer in
      try peer.readRequest()
      try peer.send("HTTP/1.1 200 OK\r\nContent-Le")
      peer.readToEnd()
    }
    let result = try await Client().perform(.post, server.url(), timeouts: Timeouts(stallMs: 200))
    #expect(result.failure?.message == "stallMs: no byte for 200 ms")
    #expect(result.answer == nil)
  }

  @Test("D22: responseMs begins again with the head and ends an answer that drips")
  func drips() async throws {
    let server = RawServer { peer in
      try peer.readRequest()
      try peer.send("HTTP/1.1 200 OK\r\nContent-Length: 100000\r\n\r\n")
      while true {
        try peer.send("x")
        usleep(20_000)
      }
    }
    let result = try await Client().perform(
      .post, server.url(), timeouts: Timeouts(stallMs: 5000, responseMs: 500))
    #expect(result.failure?.message == "responseMs: the answer did not end within 500 ms after its head")
    #expect(result.answer?.completeness == .cut)
  }

  @Test(
    "A-PROG-04: at most one progress report for each 50 ms, never more than the length, none behind the end")
  func progress() async throws {
    let server = RawServer { peer in
      while true {
        let request = try peer.readHead()
        try peer.discard(request.contentLength ?? 0)
        try peer.answer("200 OK")
      }
    }
    let file = TemporaryFile()
    let length: Int64 = 200_000_000
    file.truncate(to: length)
    let client = try Client()
    let started = DispatchTime.now()
    let attempt = try client.start(.put, server.url(), body: file.body(length: length))
    let result = await client.result(attempt)
    let elapsed = Double(DispatchTime.now().uptimeNanoseconds - started.uptimeNanoseconds) / 1e9
    let progress = client.progress(attempt)
    #expect(result.bytesSent == length)
    #expect(Double(progress.count) <= elapsed * 20 + 1)
    #expect(progress.allSatisfy { $0 > 0 && $0 <= length })
    _ = try await client.perform(.get, server.url())
    #expect(client.progress(attempt).count == progress.count)
  }
}
