import Foundation
import QueueModel
import Testing

@testable import QueueStore

/// A database that cannot be synced, and then not be opened either.
extension Harness {
  private var database: String { "\(directory)/queue.db" }

  /// The next sync fails, and so does every try to open the database again until `mendStore`.
  func breakStore() {
    let database = database
    let hasFailed = Box(false)
    store.tables.connection.syncLog = { _ in
      if hasFailed.value { return 0 }
      hasFailed.value = true
      do {
        try FileManager.default.moveItem(atPath: database, toPath: "\(database).away")
        try FileManager.default.createDirectory(atPath: database, withIntermediateDirectories: false)
      } catch {
        Issue.record("\(error)")
      }
      let failedSync: Int32 = 10 | 4 << 8
      return failedSync
    }
  }

  /// As `breakStore`, but what comes until `mendStore` is lost.
  func breakStoreAndLose() throws {
    try copyStore()
    breakStore()
  }

  /// What the store is after the next `breakStore` and `mendStore`.
  func copyStore() throws {
    try #expect(store.tables.connection.checkpoint(truncating: true, patient: true))
    try FileManager.default.copyItem(atPath: database, toPath: "\(database).before")
  }

  func mendStore() throws {
    let files = FileManager.default
    if files.fileExists(atPath: "\(database).before") {
      for suffix in [".away", "-wal", "-shm"] { try files.removeItem(atPath: database + suffix) }
      try files.moveItem(atPath: "\(database).before", toPath: "\(database).away")
    }
    try files.removeItem(atPath: database)
    try files.moveItem(atPath: "\(database).away", toPath: database)
    advance(60_000)
  }

  /// In which no transaction can begin, or can again.
  func setReadOnly(_ isReadOnly: Bool) throws {
    try store.tables.connection.execute("PRAGMA query_only = \(isReadOnly ? 1 : 0)")
  }

  /// Changes of rows of this table fail.
  func failUpdates(of table: String, where condition: String = "TRUE") throws {
    try store.tables.connection.execute(
      "CREATE TEMP TRIGGER fails BEFORE UPDATE ON \(table) WHEN \(condition) "
        + "BEGIN SELECT RAISE(ABORT, 'fails'); END")
  }

  func endFailing() throws { try store.tables.connection.execute("DROP TRIGGER fails") }
}
