import Foundation
import Glibc
import QueueModel
import Testing

@testable import HTTPTransport

@Suite("Request bodies", .timeLimit(.minutes(1)))
struct BodyTests {
  /// Answers every request once its body is there.
  static let echo: RawServer.Script = { peer in
    while true {
      try peer.readRequest()
      try peer.answer("201 Created", body: "{}")
    }
  }

  @Test("A-BODY-01: a POST without a body has Content-Length 0, no type and no byte of stdin")
  func bodylessPost() async throws {
    var ends: [Int32] = [0, 0]
    #expect(pipe(&ends) == 0)
    let stdin = dup(0)
    dup2(ends[0], 0)
    defer {
      dup2(stdin, 0)
      for descriptor in ends + [stdin] { close(descriptor) }
    }
    let line = Array("{\"jsonrpc\":\"2.0\"}\n".utf8)
    #expect(write(ends[1], line, line.count) == line.count)

    let server = RawServer(BodyTests.echo)
    let result = try await Client().perform(.post, server.url("/x"))
    let request = try #require(server.requests.first)
    #expect(request.line == "POST /x HTTP/1.1")
    #expect(request.values("Content-Length") == ["0"])
    #expect(request.values("Transfer-Encoding").isEmpty)
    #expect(request.values("Content-Type").isEmpty)
    #expect(request.body.isEmpty)
    #expect(result.answer?.status == 201)
    #expect(result.failure == nil)
    #expect(result.requestWentWhole)

    var unread = [UInt8](repeating: 0, count: 100)
    #expect(read(0, &unread, unread.count) == line.count)
  }

  @Test(
    "A-BODY-02: which methods without a body carry a length",
    arguments: [
      (HTTPMethod.post, ["0"]), (.put, ["0"]), (.patch, ["0"]), (.delete, []), (.get, []),
    ])
  func bodylessFraming(method: HTTPMethod, length: [String]) async throws {
    let server = RawServer(BodyTests.echo)
    let result = try await Client().perform(method, server.url())
    let request = try #require(server.requests.first)
    #expect(request.line == "\(method.rawValue) / HTTP/1.1")
    #expect(request.values("Content-Length") == length)
    #expect(request.values("Transfer-Encoding").isEmpty)
    #expect(request.values("Content-Type").isEmpty)
    #expect(result.answer?.status == 201)
    #expect(result.requestWentWhole)
  }

  @Test("A-BODY-03: an empty file is sent as a body of length 0", arguments: [HTTPMethod.put, .post])
  func emptyFile(method: HTTPMethod) async throws {
    let server = RawServer(BodyTests.echo)
    let file = TemporaryFile()
    let client = try Client()
    let attempt = try client.start(method, server.url(), body: file.body(length: 0))
    let result = await client.result(attempt)
    #expect(server.requests.map { $0.values("Content-Length") } == [["0"]])
    #expect(result.requestWentWhole)
    #expect(result.bytesSent == 0)
    #expect(client.progress(attempt).isEmpty)
  }

  @Test("D12: a body that went out whole says so", arguments: [1, 500, 3_000_000])
  func wholeBody(size: Int) async throws {
    let server = RawServer(BodyTests.echo)
    let result = try await Client().perform(.put, server.url(), body: .bytes(pattern(size)))
    #expect(result.answer?.status == 201)
    #expect(result.answer.map { String(decoding: $0.body, as: UTF8.self) } == "{}")
    #expect(result.requestWentWhole)
    #expect(result.bytesSent == Int64(size))
    #expect(server.requests.map(\.body) == [pattern(size)])
  }

  @Test("A-BODY-08: a body past 4 GiB is announced and sent exactly")
  func hugeBody() async throws {
    let length: Int64 = 4_294_967_297
    let server = RawServer { peer in
      let request = try peer.readHead()
      try peer.discard(request.contentLength ?? 0)
      try peer.answer("200 OK")
      peer.readToEnd()
    }
    let file = TemporaryFile()
    file.truncate(to: length)
    let client = try Client()
    let attempt = try client.start(.put, server.url(), body: file.body(length: length))
    let result = await client.result(attempt)
    #expect(server.requests.first?.contentLength == Int(length))
    #expect(result.answer?.status == 200)
    #expect(result.bytesSent == length)
    let progress = client.progress(attempt)
    #expect(progress == progress.sorted())
    #expect(progress.allSatisfy { $0 <= length })
  }

  @Test(
    "A-BODY-09: sizes at buffer boundaries arrive unchanged, methods and offsets too",
    arguments: [16_383, 16_384, 16_385, 65_536, 475_020, 524_288, 524_289])
  func boundarySizes(size: Int) async throws {
    let server = RawServer(BodyTests.echo)
    let bytes = pattern(size + 7)
    let file = TemporaryFile(bytes)
    let client = try Client()
    for method in [HTTPMethod.put, .post, .patch, .delete] {
      let result = try await client.perform(
        method, server.url(), body: file.body(offset: 7, length: Int64(size)))
      #expect(result.answer?.status == 201)
    }
    #expect(server.requests.allSatisfy { $0.body == Array(bytes.dropFirst(7)) })
    #expect(server.requests.map { $0.line.prefix { $0 != " " } } == ["PUT", "POST", "PATCH", "DELETE"])
    #expect(server.peers.count == 1)
  }

  @Test("A-FILE-01, D30: bytes behind the announced end are never sent")
  func longerFile() async throws {
    let server = RawServer(BodyTests.echo)
    let file = TemporaryFile(pattern(1_000_000))
    let client = try Client()
    for _ in 0..<2 {
      let result = try await client.perform(.put, server.url(), body: file.body(offset: 10, length: 40))
      #expect(result.answer?.status == 201)
      #expect(result.bytesSent == 40)
    }
    #expect(server.peers.count == 1)
    #expect(server.requests.map(\.body) == Array(repeating: Array(pattern(50).dropFirst(10)), count: 2))
  }

  @Test("A-FILE-08: a second attempt begins at byte 0 of the body")
  func secondAttempt() async throws {
    let server = RawServer { peer in
      if peer.ordinal == 0 {
        try peer.readHead()
        try peer.discard(100_000)
        peer.reset()
      } else {
        try BodyTests.echo(peer)
      }
    }
    let file = TemporaryFile(pattern(4_000_000))
    let client = try Client()
    let first = try await client.perform(.put, server.url(), body: file.body(length: 4_000_000))
    #expect(first.answer == nil)
    #expect(first.failure?.cause == .afterRequestBegan)
    #expect(!first.requestWentWhole)
    let second = try await client.perform(.put, server.url(), body: file.body(length: 4_000_000))
    #expect(second.answer?.status == 201)
    #expect(server.requests.last?.body == pattern(4_000_000))
  }
}
