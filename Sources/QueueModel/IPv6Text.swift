/// IPv6 addresses as URLs write them (RFC 3986, section 3.2.2; zones RFC 6874).
enum IPv6Text {
  /// - Parameter text: What stands between the brackets.
  static func isAddress(_ text: ArraySlice<UInt8>) -> Bool {
    let percent = text.firstIndex(of: UInt8(ascii: "%")) ?? text.endIndex
    return isZone(text[percent...]) && isAddress(groups: text[..<percent])
  }

  /// Nothing, or `%25` and a name; the bare `%` that people copy from their tools is taken as well.
  private static func isZone(_ text: ArraySlice<UInt8>) -> Bool {
    if text.isEmpty { return true }
    let name = text.starts(with: "%25".utf8) ? text.dropFirst(3) : text.dropFirst()
    return !name.isEmpty
      && name.allSatisfy { HTTPText.isDigit($0) || HTTPText.isLetter($0) || "-._~".utf8.contains($0) }
  }

  private static func isAddress(groups text: ArraySlice<UInt8>) -> Bool {
    let halves = split(text)
    let counts = halves.compactMap { count(groups: $0, mayEndInIPv4: $0.endIndex == text.endIndex) }
    guard counts.count == halves.count else { return false }
    switch counts.count {
    case 1: return counts[0] == 8
    case 2: return counts[0] + counts[1] < 8
    default: return false
    }
  }

  /// At each `::`.
  private static func split(_ text: ArraySlice<UInt8>) -> [ArraySlice<UInt8>] {
    var halves: [ArraySlice<UInt8>] = []
    var begin = text.startIndex
    var at = text.startIndex
    while at + 1 < text.endIndex {
      if text[at] == colon, text[at + 1] == colon {
        halves.append(text[begin..<at])
        at += 2
        begin = at
      } else {
        at += 1
      }
    }
    return halves + [text[begin...]]
  }

  /// How many groups of 16 bits; nil when one of them is malformed.
  private static func count(groups text: ArraySlice<UInt8>, mayEndInIPv4: Bool) -> Int? {
    if text.isEmpty { return 0 }
    let groups = text.split(separator: colon, omittingEmptySubsequences: false)
    var count = 0
    for (index, group) in groups.enumerated() {
      if mayEndInIPv4, index == groups.count - 1, group.contains(UInt8(ascii: ".")) {
        guard isIPv4(group) else { return nil }
        count += 2
      } else {
        guard (1...4).contains(group.count), group.allSatisfy({ HTTPText.hexValue($0) != nil }) else {
          return nil
        }
        count += 1
      }
    }
    return count
  }

  private static func isIPv4(_ text: ArraySlice<UInt8>) -> Bool {
    let bytes = text.split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false)
    return bytes.count == 4
      && bytes.allSatisfy { byte in
        byte.allSatisfy(HTTPText.isDigit) && (byte.count == 1 || byte.first != UInt8(ascii: "0"))
          && UInt8(String(decoding: byte, as: UTF8.self)) != nil
      }
  }

  private static let colon = UInt8(ascii: ":")
}
