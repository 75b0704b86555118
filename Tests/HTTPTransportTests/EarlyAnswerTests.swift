import Dispatch
import Foundation
import QueueModel
import Testing

@testable import HTTPTransport

@Suite("Interim and early answers", .timeLimit(.minutes(1)))
struct EarlyAnswerTests {
  private static let large = 20_000_000

  private static func largeFile() -> TemporaryFile {
    let file = TemporaryFile()
    file.truncate(to: Int64(large))
    return file
  }

  @Test(
    "A-EARLY-01: a 413 before the body was read is the answer, though the connection breaks",
    arguments: ["", "Connection: close\r\n"])
  func tooLarge(header: String) async throws {
    let server = RawServer { peer in
      try peer.readHead()
      try peer.send("HTTP/1.1 413 Too Large\r\n\(header)Content-Length: 2\r\n\r\nno")
    }
    let file = EarlyAnswerTests.largeFile()
    let client = try Client()
    for _ in 0..<30 {
      let result = try await client.perform(
        .put, server.url(), body: file.body(length: Int64(EarlyAnswerTests.large)))
      #expect(result.answer?.status == 413)
      #expect(!result.requestWentWhole)
      #expect(result.failure != nil)
    }
    #expect(server.requests.count == 30)
    #expect(server.peers.count == 30)
  }

  @Test("A-EARLY-01: a server that answers 413 and then neither reads nor closes does not hold the attempt")
  func tooLargeAndSilent() async throws {
    let mayEnd = DispatchSemaphore(value: 0)
    let server = RawServer { peer in
      try peer.readHead()
      try peer.send("HTTP/1.1 413 Too Large\r\nConnection: close\r\nContent-Length: 2\r\n\r\nno")
      mayEnd.wait()
    }
    let file = EarlyAnswerTests.largeFile()
    let started = Date()
    let result = try await Client().perform(
      .put, server.url(), body: file.body(length: Int64(EarlyAnswerTests.large)))
    mayEnd.signal()
    #expect(result.answer?.status == 413)
    #expect(result.answer?.completeness == .whole)
    #expect(!result.requestWentWhole)
    #expect(Date().timeIntervalSince(started) < 30)
  }

  @Test("A-EARLY-02: after a 401 before the body was read, the next request has a new connection")
  func unauthorized() async throws {
    let server = RawServer { peer in
      try peer.readHead()
      if peer.ordinal == 0 {
        try peer.answer("401 Unauthorized")
        peer.readToEnd()
      } else {
        try peer.readBody(3)
        try peer.answer("200 OK")
      }
    }
    let file = EarlyAnswerTests.largeFile()
    let client = try Client()
    let first = try await client.perform(
      .put, server.url(), body: file.body(length: Int64(EarlyAnswerTests.large)))
    #expect(first.answer?.status == 401)
    #expect(!first.requestWentWhole)
    let second = try await client.perform(.post, server.url("/b"), body: .bytes([1, 2, 3]))
    #expect(second.answer?.status == 200)
    #expect(!second.connectionWasReused)
    #expect(server.requests.map(\.line) == ["PUT / HTTP/1.1", "POST /b HTTP/1.1"])
    #expect(server.requests.last?.body == [1, 2, 3])
  }

  @Test("A-EARLY-03: the body follows at once; no Expect is sent, so no server can refuse it")
  func noExpect() async throws {
    let server = RawServer { peer in
      while true {
        let request = try peer.readHead()
        guard request.values("Expect").isEmpty else {
          try peer.answer("417 Expectation Failed")
          return
        }
        try peer.readBody(request.contentLength ?? 0)
        try peer.answer("200 OK")
      }
    }
    let client = try Client()
    for _ in 0..<5 {
      let result = try await client.perform(.put, server.url(), body: .bytes(pattern(2_000_000)))
      #expect(result.answer?.status == 200)
    }
  }

  @Test("A-EARLY-04, D13: interim answers are not the answer, and leave no header behind")
  func interim() async throws {
    let server = RawServer { peer in
      try peer.readRequest()
      try peer.send("HTTP/1.1 103 Early Hints\r\nX-A: hint\r\n\r\n")
      try peer.send("HTTP/1.1 103 Early Hints\r\nX-A: hint\r\nX-B: hint\r\n\r\n")
      try peer.send("HTTP/1.1 100 Continue\r\n\r\n")
      try peer.answer("201 Created", ["X-A: final"])
    }
    let result = try await Client().perform(.post, server.url(), body: .bytes([1]))
    #expect(result.answer?.status == 201)
    #expect(result.answer?.header("x-a") == "final")
    #expect(result.answer?.header("x-b") == nil)
    #expect(result.failure == nil)
  }

  @Test(
    "A-EARLY-05, D13: an interim answer and then the end is no answer",
    arguments: ["HTTP/1.1 103 Early Hints\r\nX-A: hint\r\n\r\n", "HTTP/1.1 101 Switching Protocols\r\n\r\n"])
  func interimOnly(text: String) async throws {
    let server = RawServer { peer in
      try peer.readRequest()
      try peer.send(text)
    }
    let result = try await Client().perform(.post, server.url(), body: .bytes([1]))
    #expect(result.answer == nil)
    #expect(result.failure?.cause == .afterRequestBegan)
  }

  @Test("D11: a final head that is cut is no answer")
  func cutHead() async throws {
    let server = RawServer { peer in
      try peer.readRequest()
      try peer.send("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n")
    }
    let result = try await Client().perform(.post, server.url(), body: .bytes([1]))
    #expect(result.answer == nil)
    #expect(result.failure != nil)
    #expect(result.requestWentWhole)
  }

  @Test(
    "A-EARLY-06, D12: a 2xx before the body was read does not make the request whole",
    arguments: ["", "Connection: close\r\n"])
  func earlySuccess(header: String) async throws {
    let server = RawServer { peer in
      try peer.readHead()
      try peer.send("HTTP/1.1 200 OK\r\n\(header)Content-Length: 2\r\n\r\nok")
    }
    let file = EarlyAnswerTests.largeFile()
    let client = try Client()
    for _ in 0..<20 {
      let result = try await client.perform(
        .put, server.url(), body: file.body(length: Int64(EarlyAnswerTests.large)))
      #expect(result.answer?.status == 200)
      #expect(!result.requestWentWhole)
      #expect(result.failure != nil)
      #expect(result.bytesSent < EarlyAnswerTests.large)
    }
  }

  @Test(
    "A-EARLY-06, D12: a 2xx before the body is whole once the server has taken all of it",
    arguments: [100_000, 3_000_000, large])
  func earlySuccessThenRead(size: Int) async throws {
    let server = RawServer { peer in
      while true {
        let request = try peer.readHead()
        try peer.answer("200 OK", body: "ok")
        try peer.discard(request.contentLength ?? 0)
      }
    }
    let file = EarlyAnswerTests.largeFile()
    let client = try Client()
    for _ in 0..<5 {
      let result = try await client.perform(.put, server.url(), body: file.body(length: Int64(size)))
      #expect(result.answer?.status == 200)
      #expect(result.requestWentWhole)
      #expect(result.failure == nil)
      #expect(result.bytesSent == Int64(size))
    }
    #expect(server.requests.count == 5)
  }

  @Test("A-EARLY-06, D12: a connection that closes with the answer stays open until the queue is empty")
  func earlySuccessThenReadThenClose() async throws {
    // Little enough for the client's kernel to take at once, more than this side's takes.
    let size = 60_000
    let mayRead = DispatchSemaphore(value: 0)
    let server = RawServer(receiveBuffer: 4096) { peer in
      let request = try peer.readHead()
      // An answer before the body has begun would keep all of it back.
      try peer.discard(1)
      try peer.answer("200 OK", ["Connection: close"], body: "ok")
      mayRead.wait()
      try peer.discard((request.contentLength ?? 1) - 1)
      peer.readToEnd()
    }
    let client = try Client()
    let attempt = try client.start(.put, server.url(), body: .bytes(pattern(size)))
    await client.progress(attempt, atLeast: 1)
    // No result may come before the queue is empty; the time only gives a wrong one the chance to come.
    try await Task.sleep(for: .milliseconds(200))
    #expect(client.results(attempt).isEmpty)
    mayRead.signal()
    let result = await client.result(attempt)
    #expect(result.answer?.status == 200)
    #expect(result.requestWentWhole)
    #expect(result.failure == nil)
    #expect(result.bytesSent == Int64(size))
  }

  @Test("D12: bytes that wait in the send queue when the answer ends are not sent yet")
  func waitsInQueue() async throws {
    let size = 300_000
    let mayAnswer = DispatchSemaphore(value: 0)
    let mayReset = DispatchSemaphore(value: 0)
    let server = RawServer(receiveBuffer: 4096) { peer in
      try peer.readHead()
      mayAnswer.wait()
      try peer.answer("200 OK", body: "ok")
      mayReset.wait()
      peer.reset()
    }
    let client = try Client()
    let attempt = try client.start(.put, server.url(), body: .bytes(pattern(size)))
    await client.progress(attempt, atLeast: 1)
    mayAnswer.signal()
    // No result may come before the queue is known; the time only gives a wrong one the chance to come.
    try await Task.sleep(for: .milliseconds(200))
    #expect(client.results(attempt).isEmpty)
    mayReset.signal()
    let result = await client.result(attempt)
    #expect(result.answer?.status == 200)
    #expect(!result.requestWentWhole)
    #expect(result.failure != nil)
    #expect(result.bytesSent < size)
  }
}
