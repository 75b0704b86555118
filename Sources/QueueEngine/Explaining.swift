package import QueueModel
import QueueStore

/// Why an entry waits, as `explain` tells it.
package struct Explanation: Sendable {
  package var state: Row.State
  /// Empty for one that may start, runs or has settled.
  package var gates: [ClosedGate]
}

extension QueueEngine {
  /// nil for an id that nobody has.
  func explain(_ id: EntryID) throws(StoreError) -> Explanation? {
    guard let entry = try store.reader.entry(id: id) else { return nil }
    return try explanation(of: entry)
  }

  func explanation(of entry: Entry) throws(StoreError) -> Explanation {
    let now = clock.now()
    var gates = try store.reader.closed(for: entry, gates: state.gates, slots: state.slots, now: now)
    if entry.isLive, !entry.isInFlight, let store = closedStore(now: now) { gates.append(store) }
    return Explanation(state: state.gates.standing(of: entry), gates: gates)
  }

  /// Nothing is sent that could not be noted down (D36, D37).
  private func closedStore(now: Moment) -> ClosedGate? {
    if store.damage != nil {
      return ClosedGate(.store, "the database is damaged; nothing is sent until the next start")
    }
    return storeRestsUntil.map {
      ClosedGate(.store, "the database cannot be written now", until: now.wall(at: $0))
    }
  }
}
