package import QueueModel

/// Creation numbers of entries in both directions, by stored state and key, for people who look through a
/// queue: what it costs does not grow with what lies before the place where one looks.
package struct EntryPages {
  private let reader: Reader

  package init(_ reader: Reader) { self.reader = reader }

  /// States as they are stored: pauses and header patches are not seen in them.
  package enum StoredState: String, Sendable, CaseIterable {
    case queued, held, running
    case awaitingAuth = "awaiting-auth"
    case completed, error, cancelled
  }

  /// At most `limit` numbers from `number` (inclusive) upwards, or downwards; empty for no states.
  package func numbers(
    from number: Int64, isUpwards: Bool, states: Set<StoredState>, key: EntryKey?, limit: Int
  ) throws(StoreError) -> [Int64] {
    guard limit > 0, !states.isEmpty else { return [] }
    var conditions = ["number \(isUpwards ? ">=" : "<=") ?"]
    if states.count < StoredState.allCases.count {
      // The index of those that run is found by an equation only.
      let names = states.map { "'\($0.rawValue)'" }.sorted()
      conditions.append(
        names.count == 1 ? "state = \(names[0])" : "state IN (\(names.joined(separator: ", ")))")
    }
    if key != nil { conditions.append("bucket IN (SELECT number FROM bucket WHERE key = ?)") }
    let statement = Statement(
      reader.tables.connection,
      """
      SELECT number FROM entry WHERE \(conditions.joined(separator: " AND "))
      ORDER BY number \(isUpwards ? "" : "DESC") LIMIT ?
      """)
    return try statement.all({
      $0.bind(number)
      if let key { $0.bind(key.text) }
      $0.bind(Int64(limit))
    }) { $0.int() }
  }
}
