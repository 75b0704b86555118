package import QueueModel

/// What holds an entry back, for `explain`: its gates, and other entries (D45, D47).
extension Reader {
  /// Entries that one gate names.
  private static var namedAtOnce: Int { 10 }

  /// Everything that holds the entry back, as far as gates, slots and the store tell.
  package func closed(
    for entry: Entry, gates: Gates, slots: Slots, now: Moment
  ) throws(StoreError) -> [ClosedGate] {
    gates.closed(for: entry, slots: slots, now: now) + (try closedByOthers(entry, gates))
  }

  /// - Parameter gates: For the states of those that are named.
  private func closedByOthers(_ entry: Entry, _ gates: Gates) throws(StoreError) -> [ClosedGate] {
    guard let held = entry.held else { return [] }
    var closed: [ClosedGate] = []
    if held.unmet > 0 {
      var names: [String] = []
      for edge in try edges(of: entry.number) where !edge.isMet {
        guard names.count < Reader.namedAtOnce else { break }
        names.append(try described(edge.predecessor, gates))
      }
      let more = held.unmet - Int64(names.count)
      let rest = more > 0 ? ", and \(more) more" : ""
      closed.append(ClosedGate(.dependency, "waits for \(names.joined(separator: ", "))\(rest)"))
    }
    if held.isBehind, let lane = entry.lane, let first = try first(of: lane),
      let id = try self.entry(number: first)?.id
    {
      closed.append(ClosedGate(.lane, "comes after \(try described(id, gates)) in its lane"))
    }
    return closed
  }

  private func described(_ id: EntryID, _ gates: Gates) throws(StoreError) -> String {
    guard let entry = try entry(id: id) else { return "\(id) (cancelled and gone; enqueue it again)" }
    return "\(id) (\(gates.standing(of: entry).rawValue))"
  }
}
