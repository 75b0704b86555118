import JSONText
import QueueModel

/// Diagnostic records that nobody took yet; the newest 50.
final class DiagnosticTable {
  private let insert: Statement
  private let deleteBoot: Statement
  private let trim: Statement
  private let select: Statement
  private let deleteAll: Statement

  static let limit = 50

  private unowned let connection: Connection

  init(_ connection: Connection) {
    self.connection = connection
    func statement(_ sql: String) -> Statement { Statement(connection, sql) }
    insert = statement(
      "INSERT INTO diagnostic (is_boot, at, level, message, error, figures) VALUES (?, ?, ?, ?, ?, ?)")
    deleteBoot = statement("DELETE FROM diagnostic WHERE is_boot = 1")
    trim = statement(
      """
      DELETE FROM diagnostic WHERE number <= (
        SELECT number FROM diagnostic ORDER BY number DESC LIMIT 1 OFFSET \(DiagnosticTable.limit))
      """)
    select = statement(
      "SELECT \(DiagnosticTable.columns) FROM diagnostic WHERE number > ? ORDER BY number")
    deleteAll = statement("DELETE FROM diagnostic")
  }

  func add(_ diagnostic: Diagnostic, isBoot: Bool) throws(StoreError) {
    if isBoot { try deleteBoot.run() }
    try insert.run {
      $0.bind(isBoot)
      $0.bind(diagnostic.at)
      $0.bind(diagnostic.level.rawValue)
      $0.bind(diagnostic.message)
      $0.bind(diagnostic.error)
      if let figures = diagnostic.figures { $0.bind(text: figures.text) } else { $0.bindNull() }
    }
    try trim.run()
  }

  func takeAll() throws(StoreError) -> [Diagnostic] {
    let diagnostics = try all(after: 0)
    if !diagnostics.isEmpty { try deleteAll.run() }
    return diagnostics.map(\.record)
  }

  /// Those with numbers above `number`, oldest first; a damaged one reads as absent.
  func all(after number: Int64) throws(StoreError) -> [(number: Int64, record: Diagnostic)] {
    try select.all({ $0.bind(number) }, DiagnosticTable.read)
  }

  /// Of all records, those that cannot be read.
  func unreadable() throws(StoreError) -> (looked: Int64, refused: Int64) {
    try Statement(connection, "SELECT \(DiagnosticTable.columns) FROM diagnostic").refusals(
      DiagnosticTable.read)
  }

  private static let columns = "number, at, level, message, error, figures"

  private static func read(_ row: inout StatementRow) -> (number: Int64, record: Diagnostic)? {
    let (number, at) = (row.int(), row.int())
    guard let level = Diagnostic.Level(rawValue: row.text()) else { return nil }
    let (message, error) = (row.text(), row.optionalText())
    let figures = row.optionalBytes().map { try? JSON(checking: $0) }
    if case .some(nil) = figures { return nil }
    return (
      number, Diagnostic(at: at, level: level, message: message, error: error, figures: figures ?? nil)
    )
  }
}
