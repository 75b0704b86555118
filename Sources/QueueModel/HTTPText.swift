/// The characters of HTTP messages and URLs.
enum HTTPText {
  static func isDigit(_ byte: UInt8) -> Bool { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte) }

  static func isLetter(_ byte: UInt8) -> Bool {
    (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(byte | 0x20)
  }

  /// The value of a hexadecimal digit.
  static func hexValue(_ byte: UInt8) -> UInt8? {
    if isDigit(byte) { return byte - UInt8(ascii: "0") }
    let letter = (byte | 0x20) &- UInt8(ascii: "a")
    return letter < 6 ? letter + 10 : nil
  }

  static func lowercased(_ byte: UInt8) -> UInt8 {
    (UInt8(ascii: "A")...UInt8(ascii: "Z")).contains(byte) ? byte | 0x20 : byte
  }

  /// A character of a token (RFC 9110, section 5.6.2).
  static func isToken(_ byte: UInt8) -> Bool {
    switch byte {
    case UInt8(ascii: "!"), UInt8(ascii: "#")...UInt8(ascii: "'"), UInt8(ascii: "*"), UInt8(ascii: "+"),
      UInt8(ascii: "-"), UInt8(ascii: "."), UInt8(ascii: "^")...UInt8(ascii: "`"), UInt8(ascii: "|"),
      UInt8(ascii: "~"):
      true
    default: isDigit(byte) || isLetter(byte)
    }
  }

  /// Whether the text has a control character, or a space when `orSpace` is set. Most texts are plain ASCII,
  /// for which one look at each byte is enough.
  static func hasControl(_ text: String, orSpace: Bool = false, butTab: Bool = false) -> Bool {
    var isPlain = true
    for byte in text.utf8 where byte <= 0x20 || byte >= 0x7F {
      if byte == 0x20 && !orSpace || byte == 0x09 && butTab { continue }
      if byte <= 0x20 || byte == 0x7F { return true }
      isPlain = false
    }
    return !isPlain && text.unicodeScalars.contains { (0x80...0x9F).contains($0.value) }
  }

  /// Whether the text begins with `prefix` (in lower case), whatever its own case.
  static func hasPrefix(_ text: some Collection<UInt8>, _ prefix: String) -> Bool {
    var rest = text.makeIterator()
    for wanted in prefix.utf8 {
      guard let byte = rest.next(), lowercased(byte) == wanted else { return false }
    }
    return true
  }

  /// The text with every byte beyond ASCII escaped, and nothing else: escapes that are there stay.
  static func percentEncoded(_ bytes: ArraySlice<UInt8>) -> String {
    if bytes.allSatisfy({ $0 < 0x80 }) { return String(decoding: bytes, as: UTF8.self) }
    var encoded: [UInt8] = []
    encoded.reserveCapacity(bytes.count)
    for byte in bytes {
      if byte < 0x80 { encoded.append(byte) } else { appendEscape(byte, to: &encoded) }
    }
    return String(decoding: encoded, as: UTF8.self)
  }

  static func appendEscape(_ byte: UInt8, to bytes: inout [UInt8]) {
    bytes.append(UInt8(ascii: "%"))
    for nibble in [byte >> 4, byte & 0xF] { bytes.append(nibble < 10 ? nibble + 48 : nibble + 55) }
  }
}
