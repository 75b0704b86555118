import Testing

@testable import HTTPTransport
@testable import QueueModel

@Suite("Reads of files that fit their pages")
struct PageFitTests {
  private let page: Int64 = 4096

  /// Reads all of a body into a buffer that lies 16 bytes into its page, as malloc's large ones do.
  private func reads(of body: OutgoingBody, room: Int) throws -> (bytes: [UInt8], counts: [Int64]) {
    let memory = UnsafeMutableRawBufferPointer.allocate(byteCount: room + 16, alignment: Int(page))
    defer { memory.deallocate() }
    let buffer = UnsafeMutableRawBufferPointer(rebasing: memory[16...])
    let source = try BodySource(opening: body)
    var (bytes, counts): ([UInt8], [Int64]) = ([], [])
    while let count = source.read(into: buffer), count > 0 {
      bytes += buffer[..<count]
      counts.append(Int64(count))
    }
    #expect(source.failure == nil)
    return (bytes, counts)
  }

  @Test("after the first read, file and memory lie alike in their pages; the last read takes the rest")
  func fits() throws {
    let content = pattern(1_000_000)
    let file = TemporaryFile(content)
    let room = 256 << 10
    for offset in [0, 16, 17, 4000, 70_001] as [Int64] {
      let length = 1_000_000 - offset
      let (bytes, counts) = try reads(of: file.body(offset: offset, length: length), room: room)
      #expect(bytes == Array(content[Int(offset)...]))
      #expect((offset + counts[0]) % page == 16)
      #expect(counts[0] > Int64(room) - page)
      #expect(counts[1...].dropLast().allSatisfy { $0 == room })
      #expect(counts.count == 4)
    }
  }

  @Test("D28: so does a file of the caller's that is a part of the body")
  func referenced() throws {
    let file = TemporaryFile(pattern(1_000_000))
    let head = OutgoingBody.Piece.bytes(Array("head".utf8))
    let body = OutgoingBody.referenced([head, file.piece, head])
    let (bytes, counts) = try reads(of: body, room: 256 << 10)
    #expect(bytes == Array("head".utf8) + pattern(1_000_000) + Array("head".utf8))
    #expect(counts == [4, 258_064, 262_144, 262_144, 217_648, 4])
  }

  @Test("what is read in one piece, or is short, stays as it is")
  func whole() throws {
    let file = TemporaryFile(pattern(200_000))
    #expect(try reads(of: file.body(length: 200_000), room: 200_000).counts == [200_000])
    #expect(try reads(of: file.body(length: 90_000), room: 60_000).counts == [60_000, 30_000])
  }
}
