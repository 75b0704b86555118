import JSONRPC
import Testing

/// The frames of a stream that arrives in `chunks` and then ends.
private func frames(_ chunks: [[UInt8]], maxLine: Int = 1 << 20) -> [Frame] {
  var reader = FrameReader(maxLine: maxLine)
  var frames: [Frame] = []
  for chunk in chunks { reader.feed(chunk) { frames.append($0) } }
  reader.finish { frames.append($0) }
  return frames
}

private func line(_ text: String) -> Frame { .line(Array(text.utf8)) }

@Suite struct FrameReaderTests {
  private static let stream = Array(
    "\u{FEFF}{\"a\":1}\r\n\r\n \t\n{\"b\":\"\u{1F600}\u{2028}\u{85}\u{B}\u{C}\"}\n{}\n{\"c\":\"x\ry\"}\r\n[]"
      .utf8)

  private static let lines: [Frame] = [
    line("{\"a\":1}"), line("{\"b\":\"\u{1F600}\u{2028}\u{85}\u{B}\u{C}\"}"), line("{}"),
    line("{\"c\":\"x\ry\"}"),
    line("[]"),
  ]

  @Test("A-RPC-07: the same lines come out wherever the stream is cut in two, and byte by byte")
  func everySplit() {
    let stream = Self.stream
    for cut in 0...stream.count {
      #expect(frames([Array(stream[..<cut]), Array(stream[cut...])]) == Self.lines, "cut at \(cut)")
    }
    #expect(frames(stream.map { [$0] }) == Self.lines)
    #expect(frames([stream + [0x0A]]) == Self.lines)
  }

  @Test("A-RPC-07: messages glued into one read come out one by one")
  func glued() {
    #expect(frames([Array("1\n2\n3\n".utf8)]) == [line("1"), line("2"), line("3")])
  }

  @Test("A-RPC-04: one CR before the line end belongs to it, and no other")
  func carriageReturn() {
    #expect(frames([Array("1\r\n2\r\r\n\r3\n".utf8)]) == [line("1"), line("2\r"), line("\r3")])
    #expect(frames([Array("1\r".utf8)]) == [line("1")])
  }

  @Test(
    "A-RPC-05: a line ends at byte 0x0A only",
    arguments: ["\u{2028}", "\u{2029}", "\u{85}", "\u{B}", "\u{C}", "\r"])
  func lineSeparators(_ separator: String) {
    #expect(frames([Array("a\(separator)b\nc\n".utf8)]) == [line("a\(separator)b"), line("c")])
  }

  @Test("Blank lines are skipped, an unterminated one at the end too")
  func blankLines() {
    #expect(frames([Array("\n\r\n  \t \n1\n \n\n2\n  ".utf8)]) == [line("1"), line("2")])
    #expect(frames([]) == [])
    #expect(frames([[]]) == [])
  }

  @Test("A byte order mark is skipped at the start of the stream and nowhere else")
  func byteOrderMark() {
    #expect(frames([Array("\u{FEFF}1\n\u{FEFF}2\n".utf8)]) == [line("1"), line("\u{FEFF}2")])
    #expect(frames([Array("\u{FEFF}\u{FEFF}1\n".utf8)]) == [line("\u{FEFF}1")])
    #expect(frames([Array("\n\u{FEFF}1\n".utf8)]) == [line("\u{FEFF}1")])
    #expect(frames([Array("\u{FEFF}\n1\n".utf8)]) == [line("1")])
    #expect(frames([[0xEF, 0xBB], [0x31, 0x0A]]) == [.line([0xEF, 0xBB, 0x31])])
  }

  @Test("A line has maxLine bytes without its line end; a longer one is told once and the next one is read")
  func tooLong() {
    let stream = Array(
      "\u{FEFF}12345678\r\n123456789\n12345678\n1234567890123456789\r\n12\n123456789\r\n".utf8)
    let expected = [line("12345678"), .tooLong, line("12345678"), .tooLong, line("12"), .tooLong]
    for size in 1...stream.count {
      let chunks = stride(from: 0, to: stream.count, by: size).map {
        Array(stream[$0..<min($0 + size, stream.count)])
      }
      #expect(frames(chunks, maxLine: 8) == expected, "chunks of \(size)")
    }
    #expect(frames([Array("123456789".utf8)], maxLine: 8) == [.tooLong])
    #expect(frames([Array("12345678\r".utf8)], maxLine: 8) == [line("12345678")])
  }

  @Test("A-RPC-09: a line without an end is told while it still comes, and is not kept")
  func endlessLine() {
    var reader = FrameReader(maxLine: 1000)
    var told: [Frame] = []
    var mostHeld = 0
    let chunk = [UInt8](repeating: 0x61, count: 300)
    for _ in 0..<100_000 {
      reader.feed(chunk) { told.append($0) }
      mostHeld = max(mostHeld, reader.bytesHeld)
    }
    #expect(mostHeld <= 1004)
    #expect(reader.bytesHeld == 0)
    #expect(told == [.tooLong])
    reader.feed(Array("\n{}\n".utf8)) { told.append($0) }
    #expect(told == [.tooLong, line("{}")])
  }

  @Test("A long line in small chunks is searched once, not once for each chunk")
  func linear() {
    var reader = FrameReader(maxLine: 64 << 20)
    let chunk = [UInt8](repeating: 0x61, count: 8 << 10)
    var count = 0
    for _ in 0..<1280 { reader.feed(chunk) { _ in count += 1 } }
    #expect(count == 0)
    reader.feed([0x0A]) { if case .line(let bytes) = $0 { count = bytes.count } }
    #expect(count == 10 << 20)
    #expect(reader.bytesSearched == 10 << 20 + 1)
  }
}
