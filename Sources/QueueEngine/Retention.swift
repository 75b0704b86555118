import QueueModel
import QueueStore

/// How long the rows of settled entries stay (D42).
extension Turn {
  /// The outcome of a completed or cancelled entry is acknowledged: its row goes, unless others need to see
  /// that it has completed.
  mutating func forget(_ entry: Entry, _ writer: Writer) throws(StoreError) {
    guard case .settled(.completed, _) = entry.state, try writer.isNeeded(entry) else {
      return try delete(entry, writer)
    }
    let decision = entry.keeping(storedData: try writer.storedData(of: entry))
    try apply(decision, from: entry, writer)
  }

  /// Something that needed the row does so no longer.
  mutating func forgetIfUnneeded(_ entry: Entry, _ writer: Writer) throws(StoreError) {
    guard entry.kept != nil, try !writer.isNeeded(entry) else { return }
    mustSync()
    try delete(entry, writer)
  }

  /// The row goes, and needs nobody's any more.
  ///
  /// - Parameter leavesGroup: Its group counts it no more.
  mutating func delete(_ entry: Entry, leavesGroup: Bool = false, _ writer: Writer) throws(StoreError) {
    let edges = try writer.edges(of: entry.number)
    try writer.delete(entry, leavesGroup: leavesGroup)
    for edge in edges { try noteIfUnneeded(edge.predecessor, writer) }
  }
}
