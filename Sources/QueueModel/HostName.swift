/// The host of a URL in the one form that every resolver takes: ASCII, lower case. Names beyond ASCII are
/// converted here (RFC 5891), since the C library's conversion depends on the locale of the process
/// (A-URL-03).
enum HostName {
  struct Defect: Error {
    var message: String

    init(_ message: String) { self.message = message }
  }

  /// - Parameter host: As it stands in the URL, an IPv6 address with its brackets.
  static func ascii(_ host: ArraySlice<UInt8>) throws(Defect) -> String {
    if host.first == UInt8(ascii: "[") {
      guard IPv6Text.isAddress(host.dropFirst().dropLast()) else {
        throw Defect("must hold an IPv6 address between its brackets")
      }
      return String(decoding: host.map(HTTPText.lowercased), as: UTF8.self)
    }
    if host.allSatisfy(isPlain) {
      return try checked(String(decoding: host.map(HTTPText.lowercased), as: UTF8.self))
    }
    var labels: [String] = []
    for label in String(decoding: host, as: UTF8.self).unicodeScalars.split(
      omittingEmptySubsequences: false, whereSeparator: { dots.contains($0) })
    {
      labels.append(try ascii(label: label))
    }
    return try checked(labels.joined(separator: "."))
  }

  /// A byte of a name that needs no conversion but to lower case.
  private static func isPlain(_ byte: UInt8) -> Bool {
    HTTPText.isLetter(byte) || HTTPText.isDigit(byte) || byte == UInt8(ascii: ".")
      || byte == UInt8(ascii: "-")
      || byte == UInt8(ascii: "_")
  }

  /// The lengths that RFC 1035, section 2.3.4 allows.
  private static func checked(_ name: String) throws(Defect) -> String {
    guard name.utf8.count <= 254 else { throw Defect("must name a host of at most 253 bytes") }
    var length = 0
    for byte in name.utf8 {
      if byte == UInt8(ascii: ".") {
        guard length > 0 else { throw Defect("must name a host without an empty part") }
        length = 0
      } else {
        length += 1
        guard length <= 63 else { throw tooLong }
      }
    }
    // One dot at the end names the root.
    return name
  }

  /// U+002E, and what RFC 3490, section 3.1 has people type for it.
  private static let dots: Set<Unicode.Scalar> = [".", "\u{3002}", "\u{FF0E}", "\u{FF61}"]

  private static let tooLong = Defect("must name a host of parts of at most 63 bytes")

  private static func ascii(label: Substring.UnicodeScalarView) throws(Defect) -> String {
    var scalars: [Unicode.Scalar] = []
    for scalar in label {
      if scalar.isASCII {
        let byte = HTTPText.lowercased(UInt8(ascii: scalar))
        guard HTTPText.isDigit(byte) || HTTPText.isLetter(byte) || scalar == "-" || scalar == "_" else {
          throw Defect("must name a host of letters, digits, hyphens and dots")
        }
        scalars.append(Unicode.Scalar(byte))
      } else {
        for lower in scalar.properties.lowercaseMapping.unicodeScalars {
          guard isLetterOfNames(lower) else {
            throw Defect("must name a host of letters and digits in their composed, plain form (RFC 5891)")
          }
          scalars.append(lower)
        }
      }
    }
    guard scalars.count <= 63 else { throw tooLong }
    var encoded = ""
    if scalars.allSatisfy(\.isASCII) {
      encoded.unicodeScalars.append(contentsOf: scalars)
    } else {
      encoded = "xn--" + Punycode.encoded(scalars)
    }
    return encoded
  }

  /// Whether the letter can be encoded as it is. A form that Unicode would first turn into another one
  /// (composed, wide, stylised) would name a different host than people see, and is refused; the sharp s and
  /// the final sigma are letters of their own (RFC 5892, section 2.6).
  private static func isLetterOfNames(_ scalar: Unicode.Scalar) -> Bool {
    if scalar == "\u{DF}" || scalar == "\u{3C2}" { return true }
    let composes =
      (0x300...0x36F).contains(scalar.value) || (0x1100...0x11FF).contains(scalar.value)
      || (0x3099...0x309A).contains(scalar.value)
    guard !composes, !scalar.properties.changesWhenNFKCCaseFolded else { return false }
    switch scalar.properties.generalCategory {
    case .lowercaseLetter, .otherLetter, .modifierLetter, .nonspacingMark, .spacingMark, .decimalNumber:
      return true
    default: return false
    }
  }
}

/// RFC 3492.
enum Punycode {
  /// The part behind `xn--`.
  ///
  /// - Parameter scalars: At most 63, so that nothing overflows.
  static func encoded(_ scalars: [Unicode.Scalar]) -> String {
    var output = scalars.filter(\.isASCII).map { UInt8(ascii: $0) }
    let basic = UInt32(output.count)
    if basic > 0 { output.append(UInt8(ascii: "-")) }
    var handled = basic
    var code: UInt32 = 128
    var delta: UInt32 = 0
    var bias: UInt32 = 72
    while handled < UInt32(scalars.count) {
      let next = scalars.lazy.map(\.value).filter { $0 >= code }.min() ?? code
      delta += (next - code) * (handled + 1)
      code = next
      for scalar in scalars {
        if scalar.value < code { delta += 1 }
        guard scalar.value == code else { continue }
        appendVariableLength(delta, bias: bias, to: &output)
        bias = adapted(delta, points: handled + 1, isFirst: handled == basic)
        delta = 0
        handled += 1
      }
      delta += 1
      code += 1
    }
    return String(decoding: output, as: UTF8.self)
  }

  private static func appendVariableLength(_ delta: UInt32, bias: UInt32, to output: inout [UInt8]) {
    var rest = delta
    var position: UInt32 = 36
    while true {
      let threshold = position <= bias ? 1 : min(position - bias, 26)
      if rest < threshold { break }
      output.append(digit(threshold + (rest - threshold) % (36 - threshold)))
      rest = (rest - threshold) / (36 - threshold)
      position += 36
    }
    output.append(digit(rest))
  }

  private static func digit(_ value: UInt32) -> UInt8 { UInt8(value < 26 ? value + 97 : value + 22) }

  private static func adapted(_ delta: UInt32, points: UInt32, isFirst: Bool) -> UInt32 {
    var delta = isFirst ? delta / 700 : delta / 2
    delta += delta / points
    var bias: UInt32 = 0
    while delta > 455 {
      delta /= 35
      bias += 36
    }
    return bias + 36 * delta / (delta + 38)
  }
}
