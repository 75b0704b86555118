extension JSON {
  /// 64 bits that are the same for texts that are equivalent (`isEquivalent`), and hardly ever for others.
  package var equivalenceDigest: Int64 {
    var digest = Digest()
    digest.add(self, levels: JSON.maxDepth)
    return Int64(bitPattern: digest.value)
  }
}

/// FNV-1a over a form of the value that equivalent texts share.
private struct Digest {
  private(set) var value: UInt64 = 0xCBF2_9CE4_8422_2325

  mutating func add(_ json: JSON, levels: Int) {
    guard levels > 0 else { return add(bytes: Array(json.text)) }
    switch json.kind {
    case .object:
      let members = json.membersByName()
      add(.open, members.count)
      for member in members {
        add(bytes: member.name)
        add(member.value, levels: levels - 1)
      }
    case .array:
      var count = 0
      for element in json.elements() {
        add(.element, count)
        count += 1
        add(element, levels: levels - 1)
      }
      add(.close, count)
    case .string:
      add(.string, 0)
      add(bytes: json.stringBytes)
    case .number, .true, .false, .null:
      add(.plain, 0)
      add(bytes: Array(json.text))
    }
  }

  private enum Mark: UInt8 {
    case open, element, close, string, plain
  }

  private mutating func add(_ mark: Mark, _ count: Int) {
    add(mark.rawValue)
    withUnsafeBytes(of: UInt64(count).littleEndian) { for byte in $0 { add(byte) } }
  }

  /// With their number, so that no two runs of bytes read as one.
  private mutating func add(bytes: [UInt8]) {
    withUnsafeBytes(of: UInt64(bytes.count).littleEndian) { for byte in $0 { add(byte) } }
    for byte in bytes { add(byte) }
  }

  private mutating func add(_ byte: UInt8) { value = (value ^ UInt64(byte)) &* 0x100_0000_01B3 }
}
