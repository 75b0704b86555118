import CSQLite
import QueueModel

/// The one row about the database itself.
final class MetaTable {
  struct Content {
    /// Names the folder of its bodies; new for each database.
    var identity: String
    /// Rises with each commit that changed something (D36).
    var turn: Int64
    /// Of the start of the system in which the row was written last.
    var bootID: String
    /// What queue time is ahead of CLOCK_BOOTTIME, ms.
    var steadyOffset: Int64
    /// Both clocks at the last commit.
    var last: Moment
  }

  private let select: Statement
  private let insert: Statement
  private let update: Statement

  init(_ connection: Connection) {
    select = Statement(connection, "SELECT identity, turn, boot_id, steady_offset, wall, steady FROM meta")
    insert = Statement(
      connection,
      """
      INSERT INTO meta (one, identity, turn, boot_id, steady_offset, wall, steady)
      VALUES (1, ?, ?, ?, ?, ?, ?)
      """)
    update = Statement(
      connection, "UPDATE meta SET turn = ?, boot_id = ?, steady_offset = ?, wall = ?, steady = ?")
  }

  func content() throws(StoreError) -> Content? {
    try select.first { row in
      Content(
        identity: row.text(), turn: row.int(), bootID: row.text(), steadyOffset: row.int(),
        last: Moment(wall: row.int(), steady: row.int()))
    }
  }

  /// Throws damage where the row is missing.
  func required() throws(StoreError) -> Content {
    guard let content = try content() else {
      throw .failed(code: SQLITE_CORRUPT, message: "the row in meta is missing or damaged")
    }
    return content
  }

  func begin(_ content: Content) throws(StoreError) {
    try insert.run {
      $0.bind(content.identity)
      MetaTable.bindChanging(content, to: &$0)
    }
  }

  func save(_ content: Content) throws(StoreError) {
    try update.run { MetaTable.bindChanging(content, to: &$0) }
  }

  private static func bindChanging(_ content: Content, to parameters: inout Parameters) {
    parameters.bind(content.turn)
    parameters.bind(content.bootID)
    parameters.bind(content.steadyOffset)
    parameters.bind(content.last.wall)
    parameters.bind(content.last.steady)
  }
}
