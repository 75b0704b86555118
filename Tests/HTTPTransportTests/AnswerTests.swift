import QueueModel
import Testing

@testable import HTTPTransport

@Suite("Answers", .timeLimit(.minutes(1)))
struct AnswerTests {
  /// Performs one request that gets exactly these bytes and then the end of the connection.
  static func answer(to method: HTTPMethod = .post, _ bytes: [UInt8]) async throws -> AttemptResult {
    let server = RawServer { peer in
      try peer.readRequest()
      try peer.send(bytes)
    }
    let result = try await Client().perform(method, server.url(), body: method == .get ? .none : .bytes([1]))
    #expect(server.requests.count == 1)
    return result
  }

  static func answer(to method: HTTPMethod = .post, _ head: String, _ body: [UInt8] = []) async throws
    -> AttemptResult
  {
    try await answer(to: method, Array("HTTP/1.1 \(head)\r\n\r\n".utf8) + body)
  }

  @Test(
    "A-RESP-01: every way to end an answer is whole",
    arguments: [
      ("204 No Content", "", ""), ("200 OK\r\nContent-Length: 0", "", ""),
      ("200 OK", "{\"a\":1}", "{\"a\":1}"),
      ("200 OK\r\nContent-Length: 7", "{\"a\":1}", "{\"a\":1}"),
      ("200 OK\r\nTransfer-Encoding: chunked", "3\r\n{\"a\r\n4;x=y\r\n\":1}\r\n0\r\n\r\n", "{\"a\":1}"),
      ("200 OK\r\nTransfer-Encoding: chunked", "1\r\na\r\n0\r\nX-Trailer: no\r\nX-B: c\r\n\r\n", "a"),
    ])
  func ends(head: String, sent: String, body: String) async throws {
    let result = try await AnswerTests.answer(head, Array(sent.utf8))
    #expect(result.answer?.completeness == .whole)
    #expect(result.answer.map { String(decoding: $0.body, as: UTF8.self) } == body)
    #expect(result.answer?.header("x-trailer") == nil)
    #expect(result.failure == nil)
  }

  @Test(
    "A-RESP-02, D12: a cut answer is cut, whatever its status",
    arguments: [200, 404],
    [
      "Content-Length: 100\r\n\r\n0123456789", "Transfer-Encoding: chunked\r\n\r\na\r\n0123456789\r\n",
      "Transfer-Encoding: chunked\r\n\r\nff\r\n0123456789",
    ])
  func cut(status: Int, rest: String) async throws {
    let result = try await AnswerTests.answer(Array("HTTP/1.1 \(status) X\r\n\(rest)".utf8))
    #expect(result.answer?.status == status)
    #expect(result.answer?.completeness == .cut)
    #expect(result.answer.map { String(decoding: $0.body, as: UTF8.self) } == "0123456789")
    #expect(result.failure?.cause == .afterRequestBegan)
    #expect(result.requestWentWhole)
  }

  @Test("A-RESP-03, D31: 1 MiB of an answer is kept, no more", arguments: [-1, 0, 1, 3_000_000])
  func cap(excess: Int) async throws {
    let body = pattern((1 << 20) + excess)
    let result = try await AnswerTests.answer(
      to: .get, "200 OK\r\nContent-Length: \(body.count)", body)
    #expect(result.answer?.completeness == (excess > 0 ? .capped : .whole))
    #expect(result.answer?.body == Array(body.prefix(1 << 20)))
    #expect(result.failure == nil)
    #expect(result.bytesReceived > body.count)
  }

  @Test(
    "A-RESP-04, D23: a packed answer that nobody asked for is unpacked",
    arguments: [("gzip", Packed.gzip), ("x-gzip", Packed.gzip), ("deflate", Packed.zlib)])
  func packed(coding: String, bytes: [UInt8]) async throws {
    let result = try await AnswerTests.answer(
      "200 OK\r\nContent-Encoding: \(coding)\r\nContent-Length: \(bytes.count)", bytes)
    #expect(result.answer.map { String(decoding: $0.body, as: UTF8.self) } == "{\"a\":1}")
    #expect(result.answer?.completeness == .whole)
  }

  @Test("A-RESP-04: what is kept of a packed answer is counted unpacked")
  func packedCap() async throws {
    let bytes = Packed.zeros(runs: 20_000_000 / 258)
    let result = try await AnswerTests.answer(
      "200 OK\r\nContent-Encoding: deflate\r\nContent-Length: \(bytes.count)", bytes)
    #expect(result.answer?.completeness == .capped)
    #expect(result.answer?.body.count == 1 << 20)
    #expect(result.failure == nil)
  }

  @Test("A-RESP-04, D12: a packed answer without end is ended")
  func bomb() async throws {
    let bytes = Packed.zeros(runs: 100_000_000 / 258)
    let result = try await AnswerTests.answer(
      "200 OK\r\nContent-Encoding: deflate\r\nContent-Length: \(bytes.count)", bytes)
    #expect(result.answer?.status == 200)
    #expect(result.answer?.completeness == .unusable)
    #expect(result.answer?.body.count == 1 << 20)
    #expect(result.requestWentWhole)
  }

  @Test(
    "A-RESP-05, D12: a coding that cannot be undone is unusable, with its status",
    arguments: [
      ("gzip", Array("notgzip".utf8)), ("x-own", [1, 2, 3]), ("deflate", [0x78, 0x9C, 0xFF, 0xFF, 0xFF]),
    ])
  func broken(coding: String, bytes: [UInt8]) async throws {
    let result = try await AnswerTests.answer(
      "200 OK\r\nContent-Encoding: \(coding)\r\nContent-Length: \(bytes.count)", bytes)
    #expect(result.answer?.status == 200)
    #expect(result.answer?.completeness == .unusable)
    #expect(result.failure?.cause == .afterRequestBegan)
    #expect(result.requestWentWhole)
  }

  @Test(
    "A-RESP-06, D12: a header flood is unusable, with its status",
    arguments: [(lines: 1, length: 200_000), (2000, 1000)])
  func flood(lines: Int, length: Int) async throws {
    let line = "X-A: " + String(repeating: "a", count: length) + "\r\n"
    let headers = String(repeating: line, count: lines)
    let result = try await AnswerTests.answer(
      Array("HTTP/1.1 200 OK\r\n\(headers)Content-Length: 0\r\n\r\n".utf8))
    #expect(result.answer?.status == 200)
    #expect(result.answer?.completeness == .unusable)
    #expect(result.failure?.message == "the answer exceeds a limit of the transport")
    #expect(result.requestWentWhole)
  }

  @Test("A-RESP-06: a flood of interim answers is no answer")
  func interimFlood() async throws {
    let text = String(repeating: "HTTP/1.1 103 Hints\r\nX-A: 0123456789\r\n\r\n", count: 20_000)
    let result = try await AnswerTests.answer(Array(text.utf8))
    #expect(result.answer == nil)
    #expect(result.failure != nil)
  }

  @Test("A-RESP-07, D31: duplicates are joined, cookies by line, names in lower case, in order")
  func duplicates() async throws {
    let head = [
      "200 OK", "Set-Cookie: a=1; Expires=Wed, 21 Oct 2026 07:28:00 GMT", "X-A: 1", "set-cookie: b=2",
      "x-a:2  ",
      "X-B:", "Content-Length: 0",
    ].joined(separator: "\r\n")
    let answer = try #require(try await AnswerTests.answer(head).answer)
    #expect(answer.headers.map(\.name) == ["set-cookie", "x-a", "x-b", "content-length"])
    #expect(answer.header("set-cookie") == "a=1; Expires=Wed, 21 Oct 2026 07:28:00 GMT\nb=2")
    #expect(answer.header("x-a") == "1, 2")
    #expect(answer.header("x-b") == "")
  }

  @Test("A-RESP-08, D31: header values that are no UTF-8 are Latin-1, bodies stay bytes")
  func notUTF8() async throws {
    let bytes =
      Array("HTTP/1.1 200 OK\r\nX-A: caf".utf8) + [0xE9]
      + Array("\r\nX-B: ü\r\nContent-Length: 4\r\n\r\n".utf8)
      + [0x61, 0xFF, 0xFE, 0x62]
    let answer = try #require(try await AnswerTests.answer(bytes).answer)
    #expect(answer.header("x-a") == "café")
    #expect(answer.header("x-b") == "ü")
    #expect(answer.body == [0x61, 0xFF, 0xFE, 0x62])
  }

  @Test("D31: a folded header is one value")
  func folded() async throws {
    let answer = try #require(
      try await AnswerTests.answer("200 OK\r\nX-A: one\r\n  two\r\nContent-Length: 0").answer)
    #expect(answer.header("x-a") == "one two")
  }

  @Test("D13: a 3xx that is not followed is the answer", arguments: [300, 304, 305, 399])
  func otherRedirects(status: Int) async throws {
    let result = try await AnswerTests.answer("\(status) X\r\nLocation: /x\r\nContent-Length: 0")
    #expect(result.answer?.status == status)
    #expect(result.failure == nil)
  }

  @Test(
    "D11: bytes that are no HTTP are no answer",
    arguments: ["hello\r\n", "SSH-2.0-x\r\n", "\r\n", "HTTP/1.1\r\n\r\n"])
  func notHTTP(text: String) async throws {
    let result = try await AnswerTests.answer(Array(text.utf8))
    #expect(result.answer == nil)
    #expect(result.failure?.cause == .afterRequestBegan)
  }

  @Test("D12: bytes behind the announced end do not spoil the answer")
  func trailingBytes() async throws {
    let result = try await AnswerTests.answer(
      "200 OK\r\nContent-Length: 2", Array("okHTTP/1.1 500 X\r\n\r\n".utf8))
    #expect(result.answer?.status == 200)
    #expect(result.answer?.body == Array("ok".utf8))
    #expect(result.failure == nil)
  }
}
