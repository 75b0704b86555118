package import QueueModel

extension Reader {
  /// Rows looked at before a circle of them counts as needed.
  private static var circleSearch: Int { 256 }

  /// Whether others still need the row of an entry that has completed and is acknowledged (D42). The one
  /// place that knows who they can be.
  package func isNeeded(_ entry: Entry) throws(StoreError) -> Bool {
    if try isNeededByGroup(entry) { return true }
    guard try hasSuccessors(entry.id) else { return false }
    // One that comes after nobody stands in no circle.
    guard try !edges(of: entry.number).isEmpty else { return true }
    return try !standsInIdleCircle(entry)
  }

  private func isNeededByGroup(_ entry: Entry) throws(StoreError) -> Bool {
    guard let group = entry.group, let (_, found) = try self.group(named: group) else { return false }
    return found.keepsRows
  }

  /// Whether all that come after the entry, near or far, are kept rows that nothing else needs. Entries that
  /// were enqueued again, each after the other at another time, would keep each other for ever.
  private func standsInIdleCircle(_ entry: Entry) throws(StoreError) -> Bool {
    var found: Set<Int64> = [entry.number]
    var open = [entry]
    while let next = open.popLast() {
      let limit = Reader.circleSearch - found.count
      guard
        let kept = try tables.links.dependencies.keptSuccessors(
          of: next.id, but: entry.number, limit: limit + 1), kept.count <= limit
      else { return false }
      for number in kept where found.insert(number).inserted {
        guard let successor = try self.entry(number: number), try !isNeededByGroup(successor) else {
          return false
        }
        open.append(successor)
      }
    }
    return true
  }
}
