package import QueueModel

/// One entry that waits, or waited, for another.
package struct Edge: Sendable, Equatable {
  package var predecessor: EntryID
  /// The predecessor has completed since; it stays so whatever becomes of that.
  package var isMet: Bool

  package init(predecessor: EntryID, isMet: Bool) {
    self.predecessor = predecessor
    self.isMet = isMet
  }
}

/// Who comes after whom.
final class DependencyTable {
  private let insert: Statement
  private let ofSuccessor: Statement
  private let settles: Statement
  private let waiting: Statement
  private let settling: Statement
  private let isWaitedFor: Statement
  private let hasSuccessors: Statement
  private let rows: Statement
  private let meet: Statement
  private let close: Statement
  /// Behind every edge there is, and every end that edges wait for.
  private(set) var lastNumber: Int64
  private let delete: Statement

  init(_ connection: Connection) throws(StoreError) {
    func statement(_ sql: String) -> Statement { Statement(connection, sql) }
    insert = statement(
      """
      INSERT INTO dependency (number, successor, predecessor, is_met, settles, is_open)
      VALUES (?, ?, ?, ?, ?, 1)
      """)
    ofSuccessor = statement("SELECT predecessor, is_met FROM dependency WHERE successor = ? ORDER BY number")
    settles = statement("SELECT settles FROM dependency WHERE successor = ? LIMIT 1")
    waiting = statement(
      """
      SELECT number, successor FROM dependency
      WHERE predecessor = ? AND is_open = 1 AND is_met = 0 AND settles IN (0, 1) AND number <= ? LIMIT ?
      """)
    settling = statement(
      """
      SELECT number, successor FROM dependency
      WHERE predecessor = ? AND is_open = 1 AND is_met = 0 AND settles = 1 AND number <= ? LIMIT ?
      """)
    isWaitedFor = statement(
      "SELECT EXISTS (SELECT 1 FROM dependency WHERE predecessor = ? AND is_open = 1 AND is_met = 0)")
    hasSuccessors = statement("SELECT EXISTS (SELECT 1 FROM dependency WHERE predecessor = ?)")
    rows = statement(
      """
      SELECT e.number, e.is_kept FROM dependency d LEFT JOIN entry e ON e.number = d.successor
      WHERE d.predecessor = ? AND d.successor <> ? LIMIT ?
      """)
    meet = statement("UPDATE dependency SET is_met = 1 WHERE number = ?")
    close = statement("UPDATE dependency SET is_open = 0 WHERE successor = ? AND is_open = 1")
    delete = statement("DELETE FROM dependency WHERE successor = ?")
    lastNumber =
      try statement(
        """
        SELECT max(
          ifnull((SELECT max(number) FROM dependency WHERE number <= \(StatementRow.largest)), 0),
          ifnull((SELECT max(through) FROM consequence WHERE through <= \(StatementRow.largest)), 0))
        """
      ).first { $0.int() } ?? 0
  }

  /// Replaces the edges of an entry, which is live, or ends in this transaction.
  func put(_ edges: [Edge], settles: Bool, of successor: Int64) throws(StoreError) {
    try delete(of: successor)
    for edge in edges {
      lastNumber += 1
      try insert.run {
        $0.bind(lastNumber)
        $0.bind(successor)
        $0.bind(edge.predecessor.text)
        $0.bind(edge.isMet)
        $0.bind(settles)
      }
    }
  }

  /// In the order in which the enqueue named them.
  func edges(of successor: Int64) throws(StoreError) -> [Edge] {
    try ofSuccessor.all({ $0.bind(successor) }) {
      Edge(predecessor: EntryID($0.text()), isMet: $0.bool())
    }
  }

  /// Whether the entry settles when one that it comes after fails.
  func settles(_ successor: Int64) throws(StoreError) -> Bool {
    try settles.first({ $0.bind(successor) }) { $0.bool() } ?? false
  }

  /// Edges up to `through` whose live successor waits for the entry.
  func waiting(
    for id: EntryID, settlingOnly: Bool, through: Int64, limit: Int
  ) throws(StoreError) -> [(edge: Int64, successor: Int64)] {
    try (settlingOnly ? settling : waiting).all({
      $0.bind(id.text)
      $0.bind(through)
      $0.bind(Int64(limit))
    }) { ($0.int(), $0.int()) }
  }

  func isWaitedFor(_ id: EntryID) throws(StoreError) -> Bool {
    try isWaitedFor.first({ $0.bind(id.text) }) { $0.bool() } ?? false
  }

  /// Some entry comes after it, settled or not (D42).
  func hasSuccessors(_ id: EntryID) throws(StoreError) -> Bool {
    try hasSuccessors.first({ $0.bind(id.text) }) { $0.bool() } ?? false
  }

  /// The rows that come after the entry, settled or not; nil when one is not kept itself, or is still to be
  /// written. One of them is passed over.
  func keptSuccessors(
    of id: EntryID, but passedOver: Int64, limit: Int
  ) throws(StoreError) -> [Int64]? {
    let rows = try rows.all({
      $0.bind(id.text)
      $0.bind(passedOver)
      $0.bind(Int64(limit))
    }) { (number: $0.optionalInt(), isKept: $0.optionalInt() == 1) }
    return rows.allSatisfy(\.isKept) ? rows.compactMap(\.number) : nil
  }

  func meet(_ edge: Int64) throws(StoreError) { try meet.run { $0.bind(edge) } }

  /// The successor has settled: it waits for nobody. What was met stays so, for the case that it reopens.
  func close(of successor: Int64) throws(StoreError) { try close.run { $0.bind(successor) } }

  func delete(of successor: Int64) throws(StoreError) { try delete.run { $0.bind(successor) } }
}
