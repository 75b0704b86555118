import CSQLite
import QueueModel

/// Opens the database of a directory: recognises it, brings its schema up, reads what names it.
struct Database {
  let tables: Tables
  let meta: MetaTable.Content

  /// Throws an error of which `isCorruption` is true when the file is damaged or no database.
  init(
    in directory: QueueDirectory, identity: () -> String, now: Moment, bootID: String
  ) throws(StoreError) {
    try directory.makeDatabaseFile()
    let connection = try Connection(path: Array(directory.databasePath.utf8), .readWrite)
    let version = try Database.recognise(connection, directory)
    try Database.configure(connection, isNew: version == 0)
    try Migrations.apply(to: connection, from: version) { () throws(StoreError) in
      guard version == 0 else { return }
      try directory.syncAncestors()
      try MetaTable(connection).begin(
        MetaTable.Content(identity: identity(), turn: 0, bootID: bootID, steadyOffset: 0, last: now))
    }
    if version == 0 { try connection.sync() } else { try connection.rewriteLog() }
    tables = try Tables(connection)
    meta = try tables.meta.required()
    try directory.closeDatabaseFiles()
    // What every start needs is looked at here, so that damage to it is found here.
    _ = try tables.settings.gates()
    _ = try tables.settings.configuration()
  }

  /// Opens what another process may have open as well, for reading only (D39). Changes nothing.
  init(reading directory: QueueDirectory) throws(StoreError) {
    try directory.requireQueue()
    let connection = try Connection(path: Array(directory.databasePath.utf8), .readOnly)
    let version = try Database.recognise(connection, directory)
    guard version > 0 else {
      throw .unusable(reason: "\(directory.path) holds no queue; outtray serve makes one", errno: 0)
    }
    guard version == Migrations.all.count else {
      let newest = Migrations.all.count
      throw .unusable(
        reason:
          "the database has schema \(version) of an older version; outtray serve brings it to \(newest)",
        errno: 0)
    }
    tables = try Tables(connection)
    meta = try tables.meta.required()
  }

  /// The schema's number; 0 for a new database. Only reads.
  private static func recognise(
    _ connection: Connection, _ directory: QueueDirectory
  ) throws(StoreError) -> Int64 {
    let version = try connection.integer("PRAGMA user_version") ?? 0
    let application = try connection.integer("PRAGMA application_id") ?? 0
    if application != Migrations.applicationID {
      let tables = try connection.integer("SELECT count(*) FROM sqlite_schema") ?? 0
      guard application == 0, version == 0, tables == 0 else {
        throw .unusable(reason: "\(directory.databasePath) belongs to another program", errno: 0)
      }
    }
    let known = Int64(Migrations.all.count)
    guard version <= known else { throw .newerSchema(found: version, known: known) }
    return version
  }

  private static func configure(_ connection: Connection, isNew: Bool) throws(StoreError) {
    // Can be chosen only before the first table.
    if isNew { try connection.execute("PRAGMA auto_vacuum = INCREMENTAL") }
    guard try connection.text("PRAGMA journal_mode = WAL") == "wal" else {
      throw .unusable(reason: "the file system of the directory cannot hold a write-ahead log", errno: 0)
    }
    // NORMAL syncs where a checkpoint needs it. Each commit that must survive a power cut is synced by
    // `write`, which makes it FULL for that commit: whether it must is known only when its decisions are
    // made, and the pragma cannot be changed inside a transaction.
    try connection.execute("PRAGMA synchronous = NORMAL")
    try connection.execute("PRAGMA secure_delete = ON")
    try connection.execute("PRAGMA cache_size = -8192")
    try connection.execute("PRAGMA temp_store = MEMORY")
  }
}
