import JSONText
import QueueModel

/// What entries take from the answers of others, and the values once they are there (D46).
final class BindingTable {
  private let insert: Statement
  private let ofSuccessor: Statement
  private let ofPredecessor: Statement
  private let save: Statement
  private let delete: Statement

  private static let columns = "name, predecessor, pointer, header, value"

  private unowned let connection: Connection

  init(_ connection: Connection) {
    self.connection = connection
    func statement(_ sql: String) -> Statement { Statement(connection, sql) }
    insert = statement(
      "INSERT INTO binding (successor, \(BindingTable.columns)) VALUES (?, ?, ?, ?, ?, ?)")
    ofSuccessor = statement("SELECT \(BindingTable.columns) FROM binding WHERE successor = ? ORDER BY rowid")
    ofPredecessor = statement(
      """
      SELECT \(BindingTable.columns) FROM binding WHERE successor = ? AND predecessor = ? ORDER BY rowid
      """)
    save = statement("UPDATE binding SET value = ?3 WHERE successor = ?1 AND name = ?2")
    delete = statement("DELETE FROM binding WHERE successor = ?")
  }

  /// Replaces the bindings of the entry.
  func put(_ bindings: [TakenBinding], of successor: Int64) throws(StoreError) {
    try delete(of: successor)
    for taken in bindings {
      try insert.run {
        $0.bind(successor)
        $0.bind(taken.binding.name)
        $0.bind(taken.binding.entry.text)
        switch taken.binding.source {
        case .pointer(let pointer):
          $0.bind(pointer.text)
          $0.bindNull()
        case .header(let name):
          $0.bindNull()
          $0.bind(name)
        }
        if let value = taken.value { $0.bind(text: value.text) } else { $0.bindNull() }
      }
    }
  }

  /// Of all bindings, those that cannot be read.
  func unreadable() throws(StoreError) -> (looked: Int64, refused: Int64) {
    try Statement(connection, "SELECT \(BindingTable.columns) FROM binding").refusals(BindingTable.read)
  }

  func bindings(of successor: Int64) throws(StoreError) -> [TakenBinding] {
    try ofSuccessor.all({ $0.bind(successor) }, BindingTable.read)
  }

  func bindings(of successor: Int64, to predecessor: EntryID) throws(StoreError) -> [TakenBinding] {
    try ofPredecessor.all(
      {
        $0.bind(successor)
        $0.bind(predecessor.text)
      }, BindingTable.read)
  }

  func save(_ value: JSON, as name: String, of successor: Int64) throws(StoreError) {
    try save.run {
      $0.bind(successor)
      $0.bind(name)
      $0.bind(text: value.text)
    }
  }

  func delete(of successor: Int64) throws(StoreError) { try delete.run { $0.bind(successor) } }

  private static func read(_ row: inout StatementRow) -> TakenBinding? {
    let (name, entry) = (row.text(), EntryID(row.text()))
    let source: Binding.Source
    switch (row.optionalText(), row.optionalText()) {
    case (let text?, nil):
      guard let pointer = JSONPointer(text) else { return nil }
      source = .pointer(pointer)
    case (nil, let header?): source = .header(header)
    case (nil, nil), (.some, .some): return nil
    }
    let value = row.optionalBytes().map { try? JSON(checking: $0) }
    if case .some(nil) = value { return nil }
    return TakenBinding(Binding(name: name, entry: entry, source: source), value: value ?? nil)
  }
}
