/// Dates as RFC 3339 writes them, in UTC.
package enum Timestamp {
  /// `2026-01-02T03:04:05.678Z`
  ///
  /// - Parameter wall: ms since the epoch.
  package static func text(_ wall: Int64) -> String {
    let day = floorDivided(wall, by: 86_400_000)
    let date = CivilDate(daysSinceEpoch: day)
    // Not by way of the day's own ms, which the least number of all has none of.
    let rest = wall % 86_400_000
    let ms = rest < 0 ? rest + 86_400_000 : rest
    let clock = [ms / 3_600_000, ms / 60_000 % 60, ms / 1000 % 60].map { padded($0, 2) }
    return "\(padded(date.year, 4))-\(padded(date.month, 2))-\(padded(date.day, 2))"
      + "T\(clock.joined(separator: ":")).\(padded(ms % 1000, 3))Z"
  }

  private static func padded(_ number: Int64, _ digits: Int) -> String {
    let text = number.description
    return String(repeating: "0", count: max(0, digits - text.utf8.count)) + text
  }
}
