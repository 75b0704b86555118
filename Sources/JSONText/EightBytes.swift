/// Eight bytes at a time: each test sets the top bit of every byte that it finds.
///
/// A test may also mark bytes above the first one that it found (a borrow travels upwards), so only the
/// lowest mark is to be used.
enum EightBytes {
  static let low: UInt64 = 0x0101_0101_0101_0101
  static let high: UInt64 = 0x8080_8080_8080_8080

  @inline(__always)
  static func load(_ text: borrowing Span<UInt8>, at offset: Int) -> UInt64 {
    UInt64(littleEndian: text.bytes.unsafeLoadUnaligned(fromByteOffset: offset, as: UInt64.self))
  }

  @inline(__always)
  static func equal(_ word: UInt64, _ byte: UInt8) -> UInt64 {
    let difference = word ^ (low &* UInt64(byte))
    return (difference &- low) & ~difference & high
  }

  @inline(__always)
  static func controls(_ word: UInt64) -> UInt64 { (word &- (low &* 0x20)) & ~word & high }

  @inline(__always)
  static func nonASCII(_ word: UInt64) -> UInt64 { word & high }

  /// The position, 0 to 7, of the lowest mark; 8 when there is none.
  @inline(__always)
  static func first(_ marks: UInt64) -> Int { marks.trailingZeroBitCount >> 3 }
}
