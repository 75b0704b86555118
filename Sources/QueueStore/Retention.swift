package import QueueModel

extension Reader {
  /// Whether others still need the row of an entry that has completed and is acknowledged (D42). The one
  /// place that knows who they can be.
  package func isNeeded(_ entry: Entry) throws(StoreError) -> Bool {
    if try isAwaited(entry.id) { return true }
    guard let group = entry.group, let (_, found) = try self.group(named: group) else { return false }
    return found.live > 0 || found.settled?.isAcknowledged != true
  }
}
