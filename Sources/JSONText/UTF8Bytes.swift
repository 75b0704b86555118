/// RFC 3629: the well-formed sequences of more than one byte.
enum UTF8Bytes {
  /// The length, 2 to 4, of the sequence that begins at `at` with a byte of 0x80 or more; nil when it is not
  /// well-formed: overlong, a surrogate, beyond U+10FFFF, or cut.
  @inline(__always)
  static func length(_ text: borrowing Span<UInt8>, at: Int) -> Int? {
    let left = text.count - at
    switch text[at] {
    case 0xC2...0xDF:
      return left >= 2 && isTail(text[at + 1]) ? 2 : nil
    case 0xE0...0xEF:
      guard left >= 3, isTail(text[at + 1]), isTail(text[at + 2]) else { return nil }
      let point = UInt16(text[at]) << 12 | UInt16(text[at + 1] & 0x3F) << 6
      return point >= 0x800 && point & 0xF800 != 0xD800 ? 3 : nil
    case 0xF0...0xF4:
      guard left >= 4, isTail(text[at + 1]), isTail(text[at + 2]), isTail(text[at + 3]) else { return nil }
      let plane = (text[at] & 7) << 2 | text[at + 1] >> 4 & 3
      return 1...16 ~= plane ? 4 : nil
    default:
      return nil
    }
  }

  @inline(__always)
  private static func isTail(_ byte: UInt8) -> Bool { byte & 0xC0 == 0x80 }
}
