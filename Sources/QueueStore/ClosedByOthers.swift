package import QueueModel

/// Which entries hold another one back, for `explain` (D45, D47).
extension Reader {
  /// Entries that one gate names.
  private static var namedAtOnce: Int { 10 }

  /// - Parameter gates: For the states of those that are named.
  package func closedByOthers(_ entry: Entry, gates: Gates) throws(StoreError) -> [ClosedGate] {
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
