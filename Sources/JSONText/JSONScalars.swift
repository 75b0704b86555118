extension JSON {
  /// The decoded string; nil for any other kind, and for a string with a lone surrogate escape.
  package var string: String? {
    guard kind == .string else { return nil }
    let content = lower + 1..<upper - 1
    if !JSONString.hasEscape(storage.span, content) {
      return String(decoding: storage[content], as: UTF8.self)
    }
    let decoded = JSONString.decoded(storage.span, content)
    return decoded.isUTF8 ? String(decoding: decoded.bytes, as: UTF8.self) : nil
  }

  /// The number, when it is spelled as an integer (no fraction, no exponent) and fits; else nil.
  package var integer: Int64? {
    guard kind == .number else { return nil }
    var digits = text
    let isNegative = digits.first == Ascii.minus
    if isNegative { digits.removeFirst() }
    var value: Int64 = 0
    for byte in digits {
      guard byte.isDigit else { return nil }
      let digit = Int64(byte - Ascii.zero)
      let (shifted, overflow) = value.multipliedReportingOverflow(by: 10)
      // Counted downwards for a negative number: Int64 reaches one further on that side.
      let (sum, carry) =
        isNegative
        ? shifted.subtractingReportingOverflow(digit) : shifted.addingReportingOverflow(digit)
      if overflow || carry { return nil }
      value = sum
    }
    return value
  }

  /// The nearest double to the number; nil for any other kind and for a number that no double can hold.
  package var double: Double? {
    guard kind == .number, let value = JSONNumber.double(storage.span, lower..<upper), value.isFinite else {
      return nil
    }
    return value
  }

  package var bool: Bool? {
    switch kind {
    case .true: true
    case .false: false
    case .object, .array, .string, .number, .null: nil
    }
  }

  package var isNull: Bool { kind == .null }
}

extension JSONString {
  /// The decoded text of `content`; a lone surrogate escape in it is replaced.
  static func text(_ storage: [UInt8], _ content: Range<Int>) -> String {
    if hasEscape(storage.span, content) {
      return String(decoding: decoded(storage.span, content).bytes, as: UTF8.self)
    }
    return String(decoding: storage[content], as: UTF8.self)
  }

  /// The decoded bytes of `content`; not UTF-8 when there is a lone surrogate escape in it.
  static func value(_ text: borrowing Span<UInt8>, _ content: Range<Int>) -> [UInt8] {
    if hasEscape(text, content) { return decoded(text, content).bytes }
    var bytes: [UInt8] = []
    bytes.reserveCapacity(content.count)
    for at in content { bytes.append(text[at]) }
    return bytes
  }
}
