/// The Retry-After field of an answer (RFC 9110, section 10.2.3; D14).
package enum RetryAfter {
  /// How long to wait, in ms, from `wall` on (ms since the epoch); nil when the value is past, negative or
  /// unreadable. A number of seconds too large to count is the largest wait: the caller caps it.
  package static func milliseconds(_ value: String, now wall: Int64) -> Int64? {
    let trimmed = Array(value.utf8.drop(while: isSpace).reversed().drop(while: isSpace).reversed())
    guard let first = trimmed.first else { return nil }
    if isDigit(first) { return seconds(trimmed) }
    guard let date = HTTPDate.milliseconds(trimmed, now: wall), date > wall else { return nil }
    return date - wall
  }

  private static func seconds(_ digits: [UInt8]) -> Int64? {
    var total: Int64 = 0
    for digit in digits {
      guard isDigit(digit) else { return nil }
      total = min(total * 10 + Int64(digit - UInt8(ascii: "0")), Bounds.integer / 1000)
    }
    return total > 0 ? total * 1000 : nil
  }

  private static func isSpace(_ byte: UInt8) -> Bool { byte == UInt8(ascii: " ") || byte == 0x09 }
  private static func isDigit(_ byte: UInt8) -> Bool {
    (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte)
  }
}
