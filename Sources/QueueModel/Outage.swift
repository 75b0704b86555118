/// A time in which an origin could not be reached (D16).
package struct Outage: Sendable, Equatable {
  /// From 1, rising for each origin; an entry remembers the outage it failed in.
  package var number: Int64
  /// Queue time, ms.
  package var since: Int64
  /// Queue time, ms; nil while it lasts.
  package var endedAt: Int64?

  package init(number: Int64, since: Int64, endedAt: Int64? = nil) {
    self.number = number
    self.since = since
    self.endedAt = endedAt
  }
}

extension Gates {
  /// Over how many ms the entries that the end of an outage wakes are spread.
  package static let outageSpreadMs: Int64 = 2000

  /// ms after the end of an outage at which an entry wakes.
  ///
  /// - Parameter spread: The entry's own place in the spread, 0 ..< 1.
  package static func wakeDelay(of spread: Double) -> Int64 {
    let exact = min(max(spread, 0), 1) * Double(outageSpreadMs)
    let whole = Int64(exact)
    return Double(whole) < exact ? whole + 1 : whole
  }

  /// How much of the spread is over at `steady` (queue time, ms), 0 to 1: entries up to it are awake.
  package static func spread(reachedAt steady: Int64, endedAt: Int64) -> Double {
    min(max(Double(steady - endedAt) / Double(outageSpreadMs), 0), 1)
  }

  /// Whether an outage of the origin lasts.
  package func hasOutage(_ origin: Origin) -> Bool { openOutage(of: origin) != nil }

  /// The number of the outage of the origin that lasts.
  package func openOutage(of origin: Origin) -> Int64? {
    guard let outage = outages[origin], outage.endedAt == nil else { return nil }
    return outage.number
  }

  /// Queue time, ms, at which an entry is due that failed in outage `number` of its origin; nil while that
  /// lasts.
  func wakeTime(from number: Int64, of origin: Origin, spread: Double) -> Int64? {
    guard let outage = outages[origin], outage.number >= number else { return nil }
    // Its own outage ended at the latest when the next one began.
    let endedAt = outage.number > number ? outage.since : outage.endedAt
    return endedAt.map { $0 + Self.wakeDelay(of: spread) }
  }
}
