/// An answer as D12, D13 and D31 have it, the plain way.
struct AnswerModel {
  private(set) var status: Int?
  private(set) var isHeadOver = false
  private(set) var headBytes = 0
  private(set) var bodyBytes = 0
  private(set) var body: [UInt8] = []

  var isWithinLimits: Bool { headBytes <= 256 << 10 && bodyBytes <= 64 << 20 }

  mutating func takeLine(_ line: [UInt8]) {
    headBytes += line.count
    guard isWithinLimits, !isHeadOver else { return }
    if let found = AnswerModel.status(of: line) {
      // 1xx comes before the answer.
      status = found < 200 ? nil : found
    } else if status != nil, line.allSatisfy({ $0 == 0x0D || $0 == 0x0A }) {
      isHeadOver = true
    }
  }

  mutating func takeBody(_ piece: ArraySlice<UInt8>) {
    bodyBytes += piece.count
    body += piece.prefix(max(0, (1 << 20) - body.count))
  }

  /// `HTTP/`, anything, blanks, three digits and no fourth.
  private static func status(of line: [UInt8]) -> Int? {
    guard String(decoding: line.prefix(5), as: UTF8.self) == "HTTP/" else { return nil }
    let words = line.split(separator: 0x20, maxSplits: 1, omittingEmptySubsequences: false)
    guard words.count == 2 else { return nil }
    let digits = words[1].drop { $0 == 0x20 }.prefix { (0x30...0x39).contains($0) }
    return digits.count == 3 ? Int(String(decoding: digits, as: UTF8.self)) : nil
  }
}
