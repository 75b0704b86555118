import QueueModel
import Testing

@testable import HTTPTransport

@Suite("gzip answers that stop early", .timeLimit(.minutes(1)))
struct GzipEndTests {
  /// The bytes in chunks of `size`, with an extension that looks like a size, and a trailer.
  private static func chunked(_ bytes: [UInt8], by size: Int) -> [UInt8] {
    var framed: [UInt8] = []
    for start in stride(from: 0, to: bytes.count, by: size) {
      let chunk = bytes[start..<min(start + size, bytes.count)]
      framed += Array("\(String(chunk.count, radix: 16));fade=bead\r\n".utf8) + chunk + Array("\r\n".utf8)
    }
    return framed + Array("0\r\nX-Trailer: abcd\r\n\r\n".utf8)
  }

  private static let framings: [(String, @Sendable ([UInt8]) -> (head: String, body: [UInt8]))] = [
    ("length", { ("Content-Length: \($0.count)", $0) }),
    ("end of the connection", { ("X-Way: close", $0) }),
    ("chunks of 3", { ("Transfer-Encoding: chunked", chunked($0, by: 3)) }),
    ("one chunk", { ("Transfer-Encoding: chunked", chunked($0, by: 100)) }),
  ]

  private static func result(_ coding: String, _ bytes: [UInt8], _ framing: Int) async throws -> AttemptResult
  {
    let (head, body) = framings[framing].1(bytes)
    return try await AnswerTests.answer("200 OK\r\nContent-Encoding: \(coding)\r\n\(head)", body)
  }

  @Test(
    "D12, A-RESP-05: a gzip answer that stops early inside sound framing is cut", arguments: 0..<4,
    [1, 4, 8, 15])
  func cut(framing: Int, missing: Int) async throws {
    let result = try await GzipEndTests.result("gzip", Packed.gzip.dropLast(missing), framing)
    #expect(result.answer?.status == 200)
    #expect(result.answer?.completeness == .cut)
    #expect(result.failure?.message == "the answer's gzip stream stops early")
  }

  @Test("D12: a whole one is whole, and one without a byte too", arguments: 0..<4, ["gzip", "X-GZIP"])
  func whole(framing: Int, coding: String) async throws {
    for bytes in [Packed.gzip, []] {
      let result = try await GzipEndTests.result(coding, bytes, framing)
      #expect(result.answer?.completeness == .whole)
      #expect(result.failure == nil)
    }
  }

  @Test("D12: the pieces in which it comes make no difference", arguments: 1..<40)
  func pieces(size: Int) {
    let framed = GzipEndTests.chunked(Packed.gzip, by: 5)
    var end = GzipEnd(isChunked: true)
    for start in stride(from: 0, to: framed.count, by: size) {
      Array(framed[start..<min(start + size, framed.count)]).withUnsafeBytes { end.take($0) }
    }
    #expect(end.isReached(unpacked: 7))
    #expect(!end.isReached(unpacked: 6))
    #expect(end.isReached(unpacked: 7 + (1 << 32)))
  }

  @Test("D12: bytes too few to hold a length are no end")
  func few() {
    var end = GzipEnd(isChunked: false)
    #expect(end.isReached(unpacked: 0))
    let three: [UInt8] = [0, 0, 0]
    three.withUnsafeBytes { end.take($0) }
    #expect(!end.isReached(unpacked: 0))
  }
}
