import JSONText

@testable import JSONRPC

/// Lines cut out of a stream that comes in pieces of any length, and what each line turns out to be.
final class FrameTarget: FuzzTarget {
  init() {}

  /// The longest line, the lengths of the pieces, the stream.
  func run(_ input: [UInt8]) throws {
    var choices = Choices(input)
    let maxLine = Int(choices.byte())
    let cuts = choices.bytes(choices.below(16))
    let stream = choices.rest()
    let frames = try read(stream, maxLine: maxLine, cuts: cuts)
    let expected = FrameTarget.lines(of: stream, maxLine: maxLine)
    try require(frames == expected, "cut into \(cuts): \(frames) in place of \(expected)")
    for case .line(let line) in frames { try answer(line) }
  }

  private func read(_ stream: [UInt8], maxLine: Int, cuts: [UInt8]) throws -> [Frame] {
    var reader = FrameReader(maxLine: maxLine)
    var frames: [Frame] = []
    var (at, turn) = (0, 0)
    while at < stream.count {
      let length = cuts.isEmpty ? stream.count : Int(cuts[turn % cuts.count])
      turn += 1
      if length == 0 { reader.feed([]) { frames.append($0) } }
      let end = min(at + max(length, 1), stream.count)
      reader.feed(Array(stream[at..<end])) { frames.append($0) }
      at = end
      try require(reader.bytesSearched == at, "each byte is searched once")
      try require(reader.bytesHeld <= maxLine + 4, "no more than a line is held back")
    }
    reader.finish { frames.append($0) }
    try require(reader.bytesHeld == 0, "nothing is held back at the end")
    return frames
  }

  /// The same by looking at the whole stream.
  private static func lines(of stream: [UInt8], maxLine: Int) -> [Frame] {
    var frames: [Frame] = []
    for (index, raw) in stream.split(separator: 0x0A, omittingEmptySubsequences: false).enumerated() {
      // Given up before its end is known, so that not even blanks may go on for ever.
      var isTooLong = raw.count > maxLine + 4
      var line = raw
      if index == 0, line.starts(with: [0xEF, 0xBB, 0xBF]) { line = line.dropFirst(3) }
      if line.last == 0x0D { line = line.dropLast() }
      if !isTooLong, line.allSatisfy({ [0x20, 0x09, 0x0D].contains($0) }) { continue }
      if line.count > maxLine { isTooLong = true }
      frames.append(isTooLong ? .tooLong : .line(Array(line)))
    }
    return frames
  }

  private func answer(_ line: [UInt8]) throws {
    switch Incoming.read(line) {
    case .notification(let method): try require(!method.isEmpty, "a method has a name")
    case .request(let request):
      try require(!request.method.isEmpty, "a method has a name")
      try require(request.params.map { $0.kind == .object } ?? true, "params are an object")
      let reply = try parsed(Reply.result(id: request.id) { $0.null() })
      try require(reply["id"].flatMap(RequestID.init) == request.id, "an answer carries the id")
      if let params = request.params { _ = try parsed(Reply.result(id: request.id, params)) }
    case .refused(let id, let error):
      let reply = try parsed(Reply.error(id: id, error))
      try require(reply["id"].flatMap(RequestID.init) == id, "a refusal carries the id, or null")
      try require(!error.message.isEmpty, "a refusal says why")
    }
  }

  /// The one value of a line that we wrote.
  private func parsed(_ line: [UInt8]) throws -> JSON {
    try require(line.last == 0x0A, "a line ends with its line end")
    try require(!line.dropLast().contains { $0 == 0x0A || $0 == 0x0D }, "and has no other")
    do { return try JSON(checking: line.dropLast()) } catch { throw Broken("not JSON: \(error.reason)") }
  }
}

extension JSON {
  fileprivate init(checking line: ArraySlice<UInt8>) throws(JSONDefect) {
    try self.init(checking: Array(line))
  }
}
