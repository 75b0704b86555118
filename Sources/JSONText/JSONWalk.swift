/// Steps through text that was checked before; nothing is checked again, and depth costs no stack.
enum JSONWalk {
  /// The range of the value, without the whitespace around it.
  static func trimmed(_ text: borrowing Span<UInt8>) -> Range<Int> {
    var lower = 0
    var upper = text.count
    while lower < upper, text[lower].isSpace { lower += 1 }
    while upper > lower, text[upper - 1].isSpace { upper -= 1 }
    return lower..<upper
  }

  /// Behind the whitespace that may begin at `begin`.
  @inline(__always)
  static func spaceEnd(_ text: borrowing Span<UInt8>, from begin: Int) -> Int {
    var at = begin
    while at < text.count, text[at].isSpace { at += 1 }
    return at
  }

  /// Behind the closing quote of the string that begins at `begin`.
  static func endOfString(_ text: borrowing Span<UInt8>, from begin: Int) -> Int {
    var at = begin + 1
    while true {
      while at + 8 <= text.count {
        let word = EightBytes.load(text, at: at)
        let marks = EightBytes.equal(word, Ascii.quote) | EightBytes.equal(word, Ascii.backslash)
        at += EightBytes.first(marks)
        if marks != 0 { break }
      }
      if text[at] == Ascii.quote { return at + 1 }
      at += text[at] == Ascii.backslash ? 2 : 1
    }
  }

  /// Behind the value that begins at `begin`.
  static func endOfValue(_ text: borrowing Span<UInt8>, from begin: Int) -> Int {
    switch text[begin] {
    case Ascii.quote: return endOfString(text, from: begin)
    case Ascii.openBrace, Ascii.openBracket: return endOfBrackets(text, from: begin)
    default:
      var at = begin + 1
      while at < text.count, !endsScalar(text[at]) { at += 1 }
      return at
    }
  }

  private static func endsScalar(_ byte: UInt8) -> Bool {
    byte == Ascii.comma || byte | 0x20 == Ascii.closeBrace || byte.isSpace
  }

  private static func endOfBrackets(_ text: borrowing Span<UInt8>, from begin: Int) -> Int {
    var at = begin
    var depth = 0
    repeat {
      // The brackets differ from the braces by 0x20 only, and outside strings nothing else has their low
      // bits.
      switch text[at] | 0x20 {
      case Ascii.openBrace:
        depth += 1
        at += 1
      case Ascii.closeBrace:
        depth -= 1
        at += 1
      case Ascii.quote: at = endOfString(text, from: at)
      default: at += 1
      }
    } while depth > 0
    return at
  }
}
