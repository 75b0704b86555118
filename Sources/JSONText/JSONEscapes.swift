/// What protocol.md section 1 escapes in what we write.
enum JSONEscapes {
  /// A string in quotes.
  static func append(_ string: String, to bytes: inout [UInt8]) {
    bytes.append(Ascii.quote)
    var string = string
    string.withUTF8 { utf8 in append(string: utf8.span, to: &bytes) }
    bytes.append(Ascii.quote)
  }

  /// A value's text, fit for a frame.
  static func append(_ value: JSON, to bytes: inout [UInt8]) {
    let text = value.storage.span
    var written = value.lower
    var at = value.lower
    while true {
      at = nextInText(text, from: at, to: value.upper)
      bytes.append(contentsOf: value.storage[written..<at])
      if at == value.upper { return }
      // DEL and the separators stand only inside strings, line breaks only between tokens.
      switch text[at] {
      case Ascii.lineFeed, Ascii.carriageReturn:
        bytes.append(Ascii.space)
        at += 1
      default: at += appendEscape(text, at: at, to: &bytes)
      }
      written = at
    }
  }

  private static func append(string text: borrowing Span<UInt8>, to bytes: inout [UInt8]) {
    var at = 0
    while true {
      let end = nextInString(text, from: at)
      text.extracting(at..<end).withUnsafeBufferPointer { bytes.append(contentsOf: $0) }
      if end == text.count { return }
      at = end + appendEscape(text, at: end, to: &bytes)
    }
  }

  /// Writes the escape of the character at `at`; its length in `text`.
  private static func appendEscape(_ text: borrowing Span<UInt8>, at: Int, to bytes: inout [UInt8]) -> Int {
    switch text[at] {
    case Ascii.quote: bytes.append(contentsOf: #"\""#.utf8)
    case Ascii.backslash: bytes.append(contentsOf: #"\\"#.utf8)
    case Ascii.lineFeed: bytes.append(contentsOf: #"\n"#.utf8)
    case Ascii.carriageReturn: bytes.append(contentsOf: #"\r"#.utf8)
    case Ascii.tab: bytes.append(contentsOf: #"\t"#.utf8)
    case 0xE2:
      bytes.append(contentsOf: (text[at + 2] == 0xA8 ? #"\u2028"# : #"\u2029"#).utf8)
      return 3
    default:
      bytes.append(contentsOf: #"\u00"#.utf8)
      let digits: StaticString = "0123456789abcdef"
      bytes.append(digits.utf8Start[Int(text[at] >> 4)])
      bytes.append(digits.utf8Start[Int(text[at] & 15)])
    }
    return 1
  }

  /// The next character of a string that is escaped, or the end.
  private static func nextInString(_ text: borrowing Span<UInt8>, from begin: Int) -> Int {
    var at = begin
    while at < text.count {
      if at + 8 <= text.count {
        let word = EightBytes.load(text, at: at)
        let marks =
          EightBytes.equal(word, Ascii.quote) | EightBytes.equal(word, Ascii.backslash)
          | EightBytes.controls(word) | EightBytes.equal(word, Ascii.delete) | EightBytes.equal(word, 0xE2)
        at += EightBytes.first(marks)
        if marks == 0 { continue }
      }
      switch text[at] {
      case Ascii.quote, Ascii.backslash, ..<0x20, Ascii.delete: return at
      case 0xE2 where isSeparator(text, at: at): return at
      default: at += 1
      }
    }
    return at
  }

  /// The next byte of a value's text that cannot stand in a frame, or `end`.
  private static func nextInText(_ text: borrowing Span<UInt8>, from begin: Int, to end: Int) -> Int {
    var at = begin
    while at < end {
      if at + 8 <= end {
        let word = EightBytes.load(text, at: at)
        let marks =
          EightBytes.controls(word) | EightBytes.equal(word, Ascii.delete) | EightBytes.equal(word, 0xE2)
        at += EightBytes.first(marks)
        if marks == 0 { continue }
      }
      switch text[at] {
      case Ascii.lineFeed, Ascii.carriageReturn, Ascii.delete: return at
      case 0xE2 where isSeparator(text, at: at): return at
      default: at += 1
      }
    }
    return at
  }

  /// Whether U+2028 or U+2029 begins at `at`, where a 0xE2 stands.
  private static func isSeparator(_ text: borrowing Span<UInt8>, at: Int) -> Bool {
    text[at + 1] == 0x80 && text[at + 2] & 0xFE == 0xA8
  }
}
