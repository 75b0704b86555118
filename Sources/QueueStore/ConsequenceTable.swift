import JSONText
package import QueueModel

/// What the end of an entry means for others.
package struct Consequence: Sendable {
  package var number: Int64
  package var id: EntryID
  /// The newest edge that it is about.
  package var through: Int64
  package var kind: Kind

  package enum Kind: Sendable {
    /// It has settled; others wait for that.
    case settled(Outcome.Settlement)
    /// Something that needed its row does so no longer: it may be that nothing does (D42).
    case unneeded
  }
}

/// What is not carried out yet, oldest first.
final class ConsequenceTable {
  private let insert: Statement
  private let first: Statement
  private let delete: Statement

  init(_ connection: Connection) {
    insert = Statement(connection, "INSERT INTO consequence (id, through, outcome) VALUES (?, ?, ?)")
    first = Statement(
      connection, "SELECT number, id, through, outcome FROM consequence ORDER BY number LIMIT 1")
    delete = Statement(connection, "DELETE FROM consequence WHERE number = ?")
  }

  /// - Parameter outcome: nil for `unneeded`.
  func append(_ id: EntryID, _ outcome: Outcome?, through: Int64) throws(StoreError) {
    try insert.run {
      $0.bind(id.text)
      $0.bind(through)
      if let outcome { $0.bind(text: outcome.storedText[...]) } else { $0.bindNull() }
    }
  }

  /// `consequence` is nil for a row that cannot be read.
  typealias Row = (number: Int64, id: EntryID, consequence: Consequence?)

  func next() throws(StoreError) -> Row? {
    try first.first({ _ in }, { ConsequenceTable.read(&$0) })
  }

  private static func read(_ row: inout StatementRow) -> Row {
    let (number, id, through) = (row.bits(), EntryID(row.text()), row.bits())
    guard let text = row.optionalBytes() else {
      return (number, id, Consequence(number: number, id: id, through: through, kind: .unneeded))
    }
    guard let json = try? JSON(checking: text), let outcome = try? Outcome(stored: json) else {
      return (number, id, nil)
    }
    let kind = Consequence.Kind.settled(outcome.settlement)
    return (number, id, Consequence(number: number, id: id, through: through, kind: kind))
  }

  func forget(_ number: Int64) throws(StoreError) { try delete.run { $0.bind(number) } }
}
