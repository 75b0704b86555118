import Glibc
import JSONText

@testable import HTTPTransport
@testable import QueueModel

/// An answer as libcurl hands it over, in lines and pieces, against the same by looking at all of it; what is
/// kept of it, and what it means.
final class AnswerTarget: FuzzTarget {
  /// Long enough that a few of them go beyond every limit.
  private let long = [UInt8](repeating: 0x61, count: 8 << 20)

  init() {}

  /// How it ends, then lines of heads, pieces of the body, and what was left in a socket.
  func run(_ input: [UInt8]) throws {
    var choices = Choices(input)
    let ending = choices.one(of: [Answer.Completeness.whole, .capped, .cut, .unusable])
    let form = choices.byte()
    if form & 1 == 1 { try takeGzip(&choices, isChunked: form & 2 == 2) }
    if form & 4 == 4 { return try takeRest(choices.rest(), ending) }
    var (buffer, model) = (AnswerBuffer(), AnswerModel())
    while !choices.isAtEnd, !buffer.exceedsLimit {
      let goesOn: Bool
      switch choices.below(8) {
      case 0...3:
        let line = choices.run().filter { $0 != 0x0A } + (form & 8 == 8 ? [0x0A] : [0x0D, 0x0A])
        goesOn = line.withUnsafeBytes { buffer.takeHeadLine($0) }
        model.takeLine(line)
      case 4 where choices.byte() == 0:
        goesOn = long[..<(64 << 10)].withUnsafeBytes { buffer.takeHeadLine($0) }
        model.takeLine(Array(long[..<(64 << 10)]))
      case 5 where choices.byte() < 2:
        let piece = long[..<choices.one(of: [4 << 10, 64 << 10, 8 << 20])]
        goesOn = piece.withUnsafeBytes { buffer.takeBody($0) }
        model.takeBody(piece)
      default:
        let piece = choices.run()
        goesOn = piece.withUnsafeBytes { buffer.takeBody($0) }
        model.takeBody(piece[...])
      }
      try require(goesOn == !buffer.exceedsLimit, "a transfer goes on until it exceeds a limit")
      try require(goesOn == model.isWithinLimits, "the limits are the stated ones")
    }
    try compare(buffer, model)
    // Of a long text there is nothing more to learn.
    if buffer.body.count <= 128 << 10 { try keep(buffer.answer(ending)) }
  }

  /// What is left of an answer in a socket is what the same bytes are when they come as lines.
  private func takeRest(_ bytes: [UInt8], _ ending: Answer.Completeness) throws {
    var buffer = AnswerBuffer()
    buffer.takeRest(bytes)
    try require(!buffer.isWhole || buffer.hasFinalHead, "an answer has a head")
    try require(buffer.headBytes + Int64(buffer.decodedBytes) <= bytes.count, "no byte counts twice")
    try keep(buffer.answer(ending))
  }

  /// A stream that stops early is never taken for one that reached its end.
  private func takeGzip(_ choices: inout Choices, isChunked: Bool) throws {
    var end = GzipEnd(isChunked: isChunked)
    let unpacked = Int(choices.byte())
    var all: [UInt8] = []
    for _ in 0..<choices.below(4) {
      let piece = choices.run()
      piece.withUnsafeBytes { end.take($0) }
      all += piece
    }
    let isReached = end.isReached(unpacked: unpacked)
    if isChunked {
      var whole = GzipEnd(isChunked: true)
      all.withUnsafeBytes { whole.take($0) }
      try require(whole.isReached(unpacked: unpacked) == isReached, "cuts change nothing")
    } else {
      let expected = [UInt8(truncatingIfNeeded: unpacked), 0, 0, 0]
      try require(
        isReached == (all.isEmpty || all.count >= 4 && all.suffix(4) == expected[...]), "its length")
    }
  }

  private func compare(_ buffer: AnswerBuffer, _ model: AnswerModel) throws {
    try require(buffer.finalStatus == model.status, "the status is \(model.status ?? 0)")
    try require(buffer.body.hasSameBytes(as: model.body), "the first MiB of the body is kept")
    try require(buffer.decodedBytes == model.bodyBytes, "every byte of the body is counted")
    try require(buffer.headBytes == Int64(model.headBytes), "every byte of a head is counted")
    try require(buffer.hasFinalHead == model.isHeadOver, "the head is over with its blank line")
  }

  /// What the outcome, the rules and the next attempt make of it.
  private func keep(_ answer: Answer?) throws {
    guard let answer else { return }
    try require((200...999).contains(answer.status), "a final status has three digits")
    var names: Set<[UInt8]> = []
    for (name, value) in answer.headers {
      try require(names.insert(Array(name.utf8)).inserted, "\(name) stands once")
      try require(name == name.lowercased(), "\(name) is in lower case")
      try require(!value.utf8.contains(0x0A) || name == "set-cookie", "\(name) has one line")
    }
    let record = ResponseRecord(answer)
    let written = JSON(writing: { record.write(into: &$0) })
    guard let stored = try? JSON(checking: Array(written.text)) else { throw Broken("a record is no JSON") }
    let again = ResponseRecord(stored: stored)
    try require(again.status == record.status && again.body == record.body, "a record is stored as it is")
    let isSame = zip(again.headers, record.headers).allSatisfy {
      $0.name.hasSameBytes(as: $1.name) && $0.value.hasSameBytes(as: $1.value)
    }
    try require(isSame && again.headers.count == record.headers.count, "with its headers")
    try judge(answer)
  }

  private func judge(_ answer: Answer) throws {
    let result = AttemptResult(answer: answer, requestWentWhole: true)
    let rules = [AcceptRule(status: 409, bodyIncludes: "a"), AcceptRule(status: 302)]
    var policy = RetryPolicy()
    policy.transient = [TransientRule(status: 422, bodyIncludes: "b", maxRetries: 1)]
    let verdict = QueueModel.judge(result, accept: rules, policy: policy, failures: FailureCounts())
    let isSuccess = (200...299).contains(answer.status)
    switch verdict {
    case .accepted, .acceptedThoughUnusable:
      try require(isSuccess || [409, 302].contains(answer.status), "only what is accepted is")
    case .needsCredentials: try require([401, 403].contains(answer.status), "credentials are asked for")
    case .transient, .terminal:
      try require(!isSuccess || answer.completeness == .cut, "a whole success is one")
    }
  }
}

extension [UInt8] {
  /// By the C library: `==` is made with coverage of each byte here, and a body is long.
  fileprivate func hasSameBytes(as other: [UInt8]) -> Bool {
    count == other.count
      && withUnsafeBytes { one in
        other.withUnsafeBytes { isEmpty || memcmp(one.baseAddress!, $0.baseAddress!, count) == 0 }
      }
  }
}
