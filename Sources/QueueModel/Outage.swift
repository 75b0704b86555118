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

  /// Ends every outage that lasts; false when there is none.
  package mutating func endOutages(at steady: Int64) -> Bool {
    let lasting = outages.filter { $0.value.endedAt == nil }.keys
    for origin in lasting { outages[origin]?.endedAt = steady }
    return !lasting.isEmpty
  }

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

extension Outage {
  /// What the result of an attempt says of its origin.
  package enum Reach: Sendable, Equatable, CaseIterable {
    /// The request began, or an answer came.
    case reached
    /// Nothing of the request was sent.
    case unreachable
    /// The body was at fault; nothing is known of the origin.
    case unknown
  }

  /// The outage as it stands after a result; nil when the result changes nothing. One begins when an attempt
  /// could not be sent and no attempt begun since has reached the origin; one that lasts ends when the origin
  /// is reached.
  ///
  /// - Parameters:
  ///   - begunAt: Queue time, ms, at which the attempt began.
  ///   - lastReachedBy: Queue time at which the newest attempt began that reached the origin.
  ///   - current: The present or last outage of the origin.
  package static func after(
    _ reach: Reach, begunAt: Int64, lastReachedBy: Int64, current: Outage?, now: Moment
  ) -> Outage? {
    let lasts = current.map { $0.endedAt == nil } ?? false
    switch reach {
    case .unknown: return nil
    case .unreachable:
      guard !lasts, lastReachedBy < begunAt else { return nil }
      return Outage(number: (current?.number ?? 0) + 1, since: now.steady)
    case .reached:
      guard lasts, var ended = current else { return nil }
      ended.endedAt = now.steady
      return ended
    }
  }
}

extension AttemptResult {
  package var reach: Outage.Reach {
    if answer != nil { return failure?.cause == .beforeRequest ? .unreachable : .reached }
    switch failure?.cause {
    case .beforeRequest: return .unreachable
    case .afterRequestBegan: return .reached
    case .bodyMissing, .bodyChanged, .bodyUnreadable, nil: return .unknown
    }
  }
}
