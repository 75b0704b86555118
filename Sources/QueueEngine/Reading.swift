package import QueueModel
import QueueStore

/// Counters and gauges, as `stats` gives them.
package struct Stats: Sendable {
  /// Entries by derived state.
  package var entries: [Row.State: Int64] = [:]
  package var unacknowledged: Int64 = 0
  package var attemptsStarted: Int64 = 0
  package var attemptsCompleted: Int64 = 0
  package var attemptsFailed: Int64 = 0
  package var bytesSent: Int64 = 0
  package var bytesReceived: Int64 = 0
  package var commits: Int64 = 0
  package var network = Network()
  /// A host named the network; else it was detected (D34).
  package var isNetworkNamed = false
  /// Those with attempts first, then by name.
  package var origins: [OriginStanding] = []
}

/// When the engine wants a `tick`; nil in both means that nothing is waited for.
package struct Deadline: Sendable, Equatable {
  /// Queue time, ms.
  package var steady: Int64?
  /// Wall clock, ms.
  package var wall: Int64?
}

/// Reads answer from what is committed.
extension QueueEngine {
  func rows(_ query: RowQuery) throws(StoreError) -> RowPage {
    let now = clock.now()
    var page = RowPage(rows: [], next: nil)
    var bytes = 0
    var after = query.after
    while page.next == nil {
      let entries = try store.reader.entries(
        after: after, limit: 256, key: query.key, id: query.id, group: query.group)
      for (entry, _) in entries {
        let row = Row(state.shown(entry), gates: state.gates, now: now)
        let fits =
          (query.state.map { $0 == row.state } ?? true) && (query.key.map { $0 == row.key } ?? true)
        if fits && !page.rows.isEmpty
          && (page.rows.count == query.limit || bytes + row.size > QueueEngine.pageBytes)
        {
          page.next = after
          return page
        }
        after = entry.number
        guard fits else { continue }
        page.rows.append(row)
        bytes += row.size
      }
      if entries.count < 256 { return page }
    }
    return page
  }

  private static let pageBytes = 1 << 20

  func stats() throws(StoreError) -> Stats {
    var stats = Stats()
    stats.entries = state.gates.countByState(
      try store.reader.counts(), apart: try state.misplaced(store.reader))
    stats.unacknowledged = try store.reader.unacknowledged()
    stats.attemptsStarted = state.counters.attemptsStarted
    stats.attemptsCompleted = state.counters.attemptsCompleted
    stats.attemptsFailed = state.counters.attemptsFailed
    stats.bytesSent = state.counters.bytesSent
    stats.bytesReceived = state.counters.bytesReceived
    stats.commits = state.counters.commits
    stats.network = state.gates.network
    stats.isNetworkNamed = !state.networkOverrides.isEmpty
    stats.origins = state.slots.standings(now: clock.now())
    return stats
  }

  /// An attempt is in the transport's hands.
  package var isTransmitting: Bool { !state.flights.isEmpty }

  /// No entry is running or queued, backoff included; paused, parked and wifi-held ones do not count,
  /// nor do those that wait for others: what they wait for counts, or does not go on either.
  package func isDrained() -> Bool {
    // Nothing goes on in a damaged store.
    if store.damage != nil { return true }
    guard doubt == nil, kept.isEmpty, state.stagings.isEmpty, state.unsorted.isEmpty,
      state.groupCancels.isEmpty, !state.hasConsequencesLeft
    else { return false }
    do throws(StoreError) {
      return try store.reader.counts().allSatisfy { bucket in
        bucket.isPaused(by: state.gates) || state.gates.holdsForWifi(bucket.wifiOnly)
          || bucket.queued + bucket.running + bucket.released == 0
      }
    } catch {
      store.meet(error)
      return false
    }
  }

  /// When the next turn is needed though nothing may arrive until then. A store that cannot be read is asked
  /// again after a second.
  package func deadline() -> Deadline {
    if hasStoppedForDamage { return Deadline() }
    do throws(StoreError) {
      return try nextDeadline(now: clock.now())
    } catch {
      store.meet(error)
      return Deadline(steady: clock.now().steady + (store.damage == nil ? 1000 : 0))
    }
  }

  private func nextDeadline(now: Moment) throws(StoreError) -> Deadline {
    // What becomes due meanwhile waits for the store, and would be asked for again and again.
    if let storeRestsUntil { return Deadline(steady: storeRestsUntil) }
    var times = state.sendings.values.compactMap(\.throttle.due)
    times += state.groupsTold.values.compactMap(\.due)
    if !kept.isEmpty { times.append(now.steady) }
    var deadline = Deadline(steady: times.min())
    guard sends, !state.gates.paused, !state.isFinishing else { return deadline }
    if let opening = state.nextOpening { times.append(opening) }
    return try store.read { reader throws(StoreError) in
      let limits = [
        try reader.nextExpiry(where: state.mayExpire),
        try reader.nextGroupDeadline(where: state.mayExpire),
      ]
      deadline.wall = limits.compactMap(\.self).min()
      if state.slots.hasRoom {
        let due = try reader.nextDue(after: state.lookedAt) { state.isOpen($0, at: now.steady) }
        let woken = try nextWoken(reader, where: state.mayExpire)
        times += [due, woken].compactMap(\.self)
      }
      deadline.steady = times.min()
      return deadline
    }
  }

  /// The next entry that the end of an outage wakes.
  private func nextWoken(_ reader: Reader, where isOpen: (Bucket) -> Bool) throws(StoreError) -> Int64? {
    var earliest: Int64?
    for (origin, outage) in state.gates.outages {
      guard let endedAt = outage.endedAt,
        let spread = try reader.nextWoken(
          origin: origin, outage: outage.number,
          beyond: Gates.spread(reachedAt: state.lookedAt, endedAt: endedAt), where: isOpen)
      else { continue }
      earliest = min(earliest ?? .max, endedAt + Gates.wakeDelay(of: spread))
    }
    return earliest
  }

  /// More can be done at once: more is due than one turn takes, or a walk can go on. A store that rests has
  /// its own deadline.
  package var hasMore: Bool {
    if store.damage != nil { return !hasStoppedForDamage }
    guard !isResting else { return false }
    let hasMembersLeft =
      !state.unsorted.isEmpty || !state.groupCancels.isEmpty || state.groupWalk != nil || state.mayHaveKept
    let hasWork =
      state.hasOutcomesLeft || hasMembersLeft
      || (state.hasDueLeft || state.hasConsequencesLeft) && !state.isFinishing
    return hasWork || Turn(engine: self, now: clock.now()).hasWalking
  }
}
