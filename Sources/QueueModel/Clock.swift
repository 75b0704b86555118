/// One reading of both clocks, in milliseconds. Every rule takes the moment that it happens at as an
/// argument.
package struct Moment: Sendable, Equatable {
  /// Wall clock, ms since the epoch. For what people and servers named as a date: `expiresAt`, `at`,
  /// `updatedAt` (D21).
  package var wall: Int64
  /// Queue time, ms: goes on through suspension and restarts and never steps back. For waits (D21).
  package var steady: Int64

  package init(wall: Int64, steady: Int64) {
    self.wall = wall
    self.steady = steady
  }

  /// The wall clock's reading when queue time will be `steady`, as far as can be known now.
  package func wall(at steady: Int64) -> Int64 {
    wall + (steady - self.steady)
  }
}

/// The time of day and the time that waits are measured in.
package protocol Clock: Sendable {
  func now() -> Moment
}

/// Where request ids, jitter and multipart boundaries come from.
package protocol Randomness: Sendable {
  /// Uniform bits.
  func next() -> UInt64
}

extension Randomness {
  /// Uniform in 0 ..< 1.
  package func fraction() -> Double {
    Double(next() >> 11) * 0x1p-53
  }

  /// A version 4 UUID in lower case (RFC 9562, section 5.4).
  package func uuid() -> String {
    let high = next() & 0xFFFF_FFFF_FFFF_0FFF | 0x4000
    let low = next() & 0x3FFF_FFFF_FFFF_FFFF | 0x8000_0000_0000_0000
    return String(unsafeUninitializedCapacity: 36) { text in
      var at = 0
      for nibble in 0..<32 {
        if nibble == 8 || nibble == 12 || nibble == 16 || nibble == 20 {
          text[at] = UInt8(ascii: "-")
          at += 1
        }
        let word = nibble < 16 ? high : low
        let value = UInt8(truncatingIfNeeded: word >> UInt64(60 - nibble % 16 * 4)) & 0xF
        text[at] = value < 10 ? value + 48 : value + 87
        at += 1
      }
      return at
    }
  }
}
