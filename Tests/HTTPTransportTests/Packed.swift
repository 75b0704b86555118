/// Packed answers, prepared byte by byte (RFC 1950 to 1952).
enum Packed {
  /// gzip of `{"a":1}`.
  static let gzip: [UInt8] = [
    0x1F, 0x8B, 0x08, 0x00, 0x00, 0x00, 0x00, 0x00, 0x02, 0x03, 0xAB, 0x56, 0x4A, 0x54, 0xB2, 0x32, 0xAC,
    0x05, 0x00, 0xAF, 0xAC, 0x1B, 0x56, 0x07, 0x00, 0x00, 0x00,
  ]

  /// zlib stream of `{"a":1}`.
  static let zlib: [UInt8] = [
    0x78, 0x9C, 0xAB, 0x56, 0x4A, 0x54, 0xB2, 0x32, 0xAC, 0x05, 0x00, 0x08, 0x2A, 0x02, 0x09,
  ]

  /// zlib stream of `1 + 258 * runs` zero bytes: one literal, then copies of 258 bytes from 1 byte before.
  static func zeros(runs: Int) -> [UInt8] {
    var bits = Bits()
    // Last block, fixed Huffman codes.
    bits.append(0b1, count: 1)
    bits.append(0b01, count: 2)
    bits.appendCode(0b0011_0000, count: 8)
    for _ in 0..<runs {
      bits.appendCode(0b1100_0101, count: 8)
      bits.appendCode(0b00000, count: 5)
    }
    // End of block.
    bits.appendCode(0, count: 7)
    let second = UInt32((1 + 258 * runs) % 65521)
    return [0x78, 0x01] + bits.bytes
      + [UInt8(second >> 8), UInt8(second & 0xFF), 0, 1]
  }

  private struct Bits {
    private(set) var bytes: [UInt8] = []
    private var used = 8

    /// The lowest bit first.
    mutating func append(_ value: Int, count: Int) {
      for index in 0..<count {
        if used == 8 {
          bytes.append(0)
          used = 0
        }
        bytes[bytes.count - 1] |= UInt8(value >> index & 1) << UInt8(used)
        used += 1
      }
    }

    /// Huffman codes go the highest bit first.
    mutating func appendCode(_ code: Int, count: Int) {
      for index in (0..<count).reversed() { append(code >> index & 1, count: 1) }
    }
  }
}
