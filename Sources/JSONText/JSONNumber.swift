/// The numbers of RFC 8259, as text.
enum JSONNumber {
  /// Where the number that begins at `begin` ends; nil when there is none.
  static func end(_ text: borrowing Span<UInt8>, from begin: Int) -> Int? {
    var at = begin
    if at < text.count, text[at] == Ascii.minus { at += 1 }
    guard at < text.count else { return nil }
    if text[at] == Ascii.zero {
      at += 1
      if at < text.count, text[at].isDigit { return nil }
    } else {
      guard let end = digits(text, from: at) else { return nil }
      at = end
    }
    if at < text.count, text[at] == Ascii.point {
      guard let end = digits(text, from: at + 1) else { return nil }
      at = end
    }
    if at < text.count, text[at] | 0x20 == UInt8(ascii: "e") {
      at += 1
      if at < text.count, text[at] == Ascii.plus || text[at] == Ascii.minus { at += 1 }
      guard let end = digits(text, from: at) else { return nil }
      at = end
    }
    return at
  }

  private static func digits(_ text: borrowing Span<UInt8>, from begin: Int) -> Int? {
    var at = begin
    while at < text.count, text[at].isDigit { at += 1 }
    return at > begin ? at : nil
  }

  /// Whether the number in `range` is beyond the largest finite double.
  static func overflows(_ text: borrowing Span<UInt8>, _ range: Range<Int>) -> Bool {
    // 300 bytes without an exponent stay below 10^300.
    var exponentAt = range.upperBound
    for at in range where text[at] | 0x20 == UInt8(ascii: "e") { exponentAt = at }
    if exponentAt == range.upperBound, range.count <= 300 { return false }

    var scale = exponentAt == range.upperBound ? 0 : exponent(text, exponentAt + 1..<range.upperBound)
    var isSignificant = false
    var isFraction = false
    for at in range.lowerBound..<exponentAt {
      if isFraction, isSignificant { break }
      if text[at] == Ascii.point {
        isFraction = true
      } else if text[at].isDigit {
        if isSignificant { scale += 1 }
        if isFraction { scale -= 1 }
        if text[at] != Ascii.zero { isSignificant = true }
      }
    }
    // The number is d.ddd * 10^scale with d from 1 to 9.
    if !isSignificant || scale < 308 { return false }
    if scale > 308 { return true }
    return double(text, range)?.isInfinite ?? true
  }

  /// A signed exponent, held within +-10^15, which is far outside what any text can make up for by its
  /// digits.
  private static func exponent(_ text: borrowing Span<UInt8>, _ range: Range<Int>) -> Int {
    var magnitude = 0
    for at in range where text[at].isDigit && magnitude < 100_000_000_000_000 {
      magnitude = magnitude * 10 + Int(text[at] - Ascii.zero)
    }
    return text[range.lowerBound] == Ascii.minus ? -magnitude : magnitude
  }

  /// The nearest double; infinite when the number is out of range.
  static func double(_ text: borrowing Span<UInt8>, _ range: Range<Int>) -> Double? {
    var characters: [UInt8] = []
    characters.reserveCapacity(range.count)
    for at in range { characters.append(text[at]) }
    return Double(String(decoding: characters, as: UTF8.self))
  }
}
