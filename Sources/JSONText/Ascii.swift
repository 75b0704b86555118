/// The bytes that the grammar of RFC 8259 names.
enum Ascii {
  static let quote = UInt8(ascii: "\"")
  static let backslash = UInt8(ascii: "\\")
  static let openBrace = UInt8(ascii: "{")
  static let closeBrace = UInt8(ascii: "}")
  static let openBracket = UInt8(ascii: "[")
  static let closeBracket = UInt8(ascii: "]")
  static let comma = UInt8(ascii: ",")
  static let colon = UInt8(ascii: ":")
  static let minus = UInt8(ascii: "-")
  static let plus = UInt8(ascii: "+")
  static let point = UInt8(ascii: ".")
  static let zero = UInt8(ascii: "0")
  static let space = UInt8(ascii: " ")
  static let tab: UInt8 = 0x09
  static let lineFeed: UInt8 = 0x0A
  static let carriageReturn: UInt8 = 0x0D
  static let delete: UInt8 = 0x7F
}

extension UInt8 {
  @inline(__always) var isDigit: Bool { self &- Ascii.zero < 10 }

  /// RFC 8259's `ws`.
  @inline(__always) var isSpace: Bool {
    self == Ascii.space || self == Ascii.lineFeed || self == Ascii.carriageReturn || self == Ascii.tab
  }

  /// 0 to 15, or nil when this is no hexadecimal digit.
  @inline(__always) var hexValue: UInt16? {
    if isDigit { return UInt16(self &- Ascii.zero) }
    let letter = (self | 0x20) &- UInt8(ascii: "a")
    return letter < 6 ? UInt16(letter) + 10 : nil
  }
}
