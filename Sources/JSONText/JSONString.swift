/// The strings of RFC 8259, between their quotes.
enum JSONString {
  /// The UTF-16 unit of a `\uXXXX` escape at `at`; nil when none stands there.
  static func unit(_ text: borrowing Span<UInt8>, at: Int) -> UInt16? {
    guard at + 6 <= text.count, text[at] == Ascii.backslash, text[at + 1] == UInt8(ascii: "u") else {
      return nil
    }
    var unit: UInt16 = 0
    for offset in 2..<6 {
      guard let digit = text[at + offset].hexValue else { return nil }
      unit = unit << 4 | digit
    }
    return unit
  }

  /// Whether `content` (the range between the quotes) has an escape, so that its bytes are not its value.
  static func hasEscape(_ text: borrowing Span<UInt8>, _ content: Range<Int>) -> Bool {
    var at = content.lowerBound
    while at + 8 <= content.upperBound {
      if EightBytes.equal(EightBytes.load(text, at: at), Ascii.backslash) != 0 { return true }
      at += 8
    }
    while at < content.upperBound {
      if text[at] == Ascii.backslash { return true }
      at += 1
    }
    return false
  }

  /// The decoded bytes of `content`, and whether they are UTF-8: a lone surrogate is kept in the same
  /// three-byte form as any other code point, so that different texts stay different.
  static func decoded(_ text: borrowing Span<UInt8>, _ content: Range<Int>) -> (bytes: [UInt8], isUTF8: Bool)
  {
    var bytes: [UInt8] = []
    bytes.reserveCapacity(content.count)
    var isUTF8 = true
    var at = content.lowerBound
    while at < content.upperBound {
      if text[at] != Ascii.backslash {
        bytes.append(text[at])
        at += 1
        continue
      }
      guard let unit = unit(text, at: at) else {
        bytes.append(simpleEscape(text[at + 1]))
        at += 2
        continue
      }
      at += 6
      var point = UInt32(unit)
      if unit & 0xF800 == 0xD800 {
        if unit < 0xDC00, let second = self.unit(text, at: at), second & 0xFC00 == 0xDC00 {
          point = 0x10000 + (UInt32(unit & 0x3FF) << 10 | UInt32(second & 0x3FF))
          at += 6
        } else {
          isUTF8 = false
        }
      }
      append(point, to: &bytes)
    }
    return (bytes, isUTF8)
  }

  private static func simpleEscape(_ letter: UInt8) -> UInt8 {
    switch letter {
    case UInt8(ascii: "b"): 0x08
    case UInt8(ascii: "f"): 0x0C
    case UInt8(ascii: "n"): Ascii.lineFeed
    case UInt8(ascii: "r"): Ascii.carriageReturn
    case UInt8(ascii: "t"): Ascii.tab
    default: letter
    }
  }

  private static func append(_ point: UInt32, to bytes: inout [UInt8]) {
    func tail(_ shift: UInt32) -> UInt8 { UInt8(0x80 | point >> shift & 0x3F) }
    switch point {
    case ..<0x80: bytes.append(UInt8(point))
    case ..<0x800: bytes += [UInt8(0xC0 | point >> 6), tail(0)]
    case ..<0x10000: bytes += [UInt8(0xE0 | point >> 12), tail(6), tail(0)]
    default: bytes += [UInt8(0xF0 | point >> 18), tail(12), tail(6), tail(0)]
    }
  }
}
