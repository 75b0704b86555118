/// The header fields of one head: names in lower case, duplicates joined, in order of first appearance (D31).
struct AnswerFields {
  private(set) var pairs: [(name: String, value: String)] = []
  private var places: [String: Int] = [:]
  private var last: Int?

  subscript(name: String) -> String? {
    places[name].map { pairs[$0].value }
  }

  /// Takes one line with its line end; a line that is no field is dropped.
  mutating func take(_ line: UnsafeRawBufferPointer) {
    if let first = line.first, AnswerFields.isBlank(first) {
      // A folded line goes on with the field before it (RFC 9112, section 5.2).
      if let last { pairs[last].value += " " + AnswerFields.text(line[...]) }
      return
    }
    last = nil
    guard let colon = line.firstIndex(of: 0x3A) else { return }
    let name = AnswerFields.text(line[..<colon]).lowercased()
    let value = AnswerFields.text(line[(colon + 1)...])
    if let place = places[name] {
      pairs[place].value += (name == "set-cookie" ? "\n" : ", ") + value
      last = place
    } else {
      last = pairs.count
      places[name] = pairs.count
      pairs.append((name, value))
    }
  }

  private static func isBlank(_ byte: UInt8) -> Bool {
    byte == 0x20 || byte == 0x09
  }

  /// The bytes without white space and line ends around them, as UTF-8, or as Latin-1 if they are none.
  private static func text(_ bytes: Slice<UnsafeRawBufferPointer>) -> String {
    let isOuter = { (byte: UInt8) in isBlank(byte) || byte == 0x0D || byte == 0x0A }
    guard let first = bytes.firstIndex(where: { !isOuter($0) }),
      let last = bytes.lastIndex(where: { !isOuter($0) })
    else { return "" }
    let inner = bytes[first...last]
    if let text = String(validating: inner, as: UTF8.self) { return text }
    var latin = String.UnicodeScalarView()
    for byte in inner { latin.append(Unicode.Scalar(byte)) }
    return String(latin)
  }
}
