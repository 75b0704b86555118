/// Checks a text against RFC 8259 in one pass, without recursion.
///
/// Two classes of trouble: what is not JSON is thrown; what the grammar allows but cannot be kept is noted
/// once, and the scan goes on, so that the id of such a line can still be answered.
struct JSONScanner {
  private(set) var firstUnfit: (reason: Unfit.Reason, offset: Int)?

  private var at = 0
  private var open = BracketStack()

  /// The range of the one value in `text`.
  mutating func scan(_ text: borrowing Span<UInt8>) throws(JSONDefect) -> Range<Int> {
    skipSpace(text)
    let lower = at
    try value(text)
    let upper = at
    skipSpace(text)
    if at < text.count { throw defect("the end of the text") }
    return lower..<upper
  }

  private mutating func value(_ text: borrowing Span<UInt8>) throws(JSONDefect) {
    repeat {
      guard at < text.count else { throw defect("a value") }
      var complete = true
      switch text[at] {
      case Ascii.openBrace: complete = try beginObject(text)
      case Ascii.openBracket: complete = beginArray(text)
      case Ascii.quote: try string(text)
      case UInt8(ascii: "t"): try literal("true", text)
      case UInt8(ascii: "f"): try literal("false", text)
      case UInt8(ascii: "n"): try literal("null", text)
      default: try number(text)
      }
      if complete { try closeOrContinue(text) }
    } while open.depth > 0
  }

  /// Whether the object ended at once; else its first name and colon are behind us.
  private mutating func beginObject(_ text: borrowing Span<UInt8>) throws(JSONDefect) -> Bool {
    push(isObject: true)
    skipSpace(text)
    if at < text.count, text[at] == Ascii.closeBrace {
      at += 1
      open.pop()
      return true
    }
    try name(text)
    return false
  }

  /// Whether the array ended at once.
  private mutating func beginArray(_ text: borrowing Span<UInt8>) -> Bool {
    push(isObject: false)
    skipSpace(text)
    guard at < text.count, text[at] == Ascii.closeBracket else { return false }
    at += 1
    open.pop()
    return true
  }

  private mutating func push(isObject: Bool) {
    if open.depth == JSON.maxDepth { note(.tooDeep, at) }
    open.push(isObject)
    at += 1
  }

  /// After a value: closes what ends here, up to the next comma (and name), or to the end of the outermost
  /// value.
  private mutating func closeOrContinue(_ text: borrowing Span<UInt8>) throws(JSONDefect) {
    while open.depth > 0 {
      skipSpace(text)
      let byte = at < text.count ? text[at] : 0
      if byte == Ascii.comma {
        at += 1
        skipSpace(text)
        if open.isObject { try name(text) }
        return
      }
      if open.isObject {
        guard byte == Ascii.closeBrace else { throw defect("a comma or a closing brace") }
      } else {
        guard byte == Ascii.closeBracket else { throw defect("a comma or a closing bracket") }
      }
      at += 1
      open.pop()
    }
  }

  /// A member's name, its colon and the space up to its value.
  private mutating func name(_ text: borrowing Span<UInt8>) throws(JSONDefect) {
    guard at < text.count, text[at] == Ascii.quote else { throw defect("a member's name in quotes") }
    try string(text)
    skipSpace(text)
    guard at < text.count, text[at] == Ascii.colon else { throw defect("a colon") }
    at += 1
    skipSpace(text)
  }

  private mutating func literal(_ word: StaticString, _ text: borrowing Span<UInt8>) throws(JSONDefect) {
    for index in 0..<word.utf8CodeUnitCount {
      guard at < text.count, text[at] == word.utf8Start[index] else { throw defect("a value") }
      at += 1
    }
  }

  private mutating func number(_ text: borrowing Span<UInt8>) throws(JSONDefect) {
    let begin = at
    guard let end = JSONNumber.end(text, from: begin) else { throw defect("a value") }
    at = end
    if JSONNumber.overflows(text, begin..<end) { note(.numberOutOfRange, begin) }
  }

  private mutating func string(_ text: borrowing Span<UInt8>) throws(JSONDefect) {
    at += 1
    while true {
      while at + 8 <= text.count {
        let word = EightBytes.load(text, at: at)
        let marks =
          EightBytes.equal(word, Ascii.quote) | EightBytes.equal(word, Ascii.backslash)
          | EightBytes.controls(word) | EightBytes.nonASCII(word)
        at += EightBytes.first(marks)
        if marks != 0 { break }
      }
      guard at < text.count else { throw defect("a closing quote") }
      let byte = text[at]
      switch byte {
      case Ascii.quote:
        at += 1
        return
      case Ascii.backslash: try escape(text)
      case 0x80...:
        repeat {
          guard let length = UTF8Bytes.length(text, at: at) else { throw defect("UTF-8") }
          at += length
        } while at < text.count && text[at] >= 0x80
      case ..<0x20: throw defect("an escape in place of a control character")
      default: at += 1
      }
    }
  }

  private mutating func escape(_ text: borrowing Span<UInt8>) throws(JSONDefect) {
    let begin = at
    guard at + 1 < text.count else { throw defect("an escape") }
    switch text[at + 1] {
    case Ascii.quote, Ascii.backslash, UInt8(ascii: "/"), UInt8(ascii: "b"), UInt8(ascii: "f"),
      UInt8(ascii: "n"), UInt8(ascii: "r"), UInt8(ascii: "t"):
      at += 2
    case UInt8(ascii: "u"):
      guard let unit = JSONString.unit(text, at: at) else { throw defect("four hexadecimal digits") }
      at += 6
      if unit & 0xF800 != 0xD800 { return }
      // A first half is complete only with a second half right behind it; whatever else follows is read by
      // itself.
      if unit < 0xDC00, let second = JSONString.unit(text, at: at), second & 0xFC00 == 0xDC00 {
        at += 6
      } else {
        note(.loneSurrogate, begin)
      }
    default: throw defect("an escape that JSON knows")
    }
  }

  private mutating func note(_ reason: Unfit.Reason, _ offset: Int) {
    if firstUnfit == nil { firstUnfit = (reason, offset) }
  }

  @inline(__always)
  private mutating func skipSpace(_ text: borrowing Span<UInt8>) {
    while at < text.count, text[at].isSpace { at += 1 }
  }

  private func defect(_ expected: String) -> JSONDefect {
    JSONDefect(offset: at, reason: "expected \(expected)")
  }
}
