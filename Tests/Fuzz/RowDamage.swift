import CSQLite

/// Writes what it likes into the rows of a database, past every rule of its schema, and takes it back.
final class RowDamage {
  private struct Column {
    var table: Int
    var name: String
  }

  private let database: OpaquePointer
  private var tables: [(name: String, key: String)] = []
  private var columns: [Column] = []
  private var statements: [String: OpaquePointer] = [:]
  private var touched: Set<Int> = []

  /// - Parameter path: Of a database of ours that no statement was run on by this process.
  init(_ path: String) throws {
    database = try RowDamage.openWithoutRules(path)
    try run("PRAGMA ignore_check_constraints = ON; PRAGMA foreign_keys = OFF; PRAGMA synchronous = OFF")
    try run("ATTACH ':memory:' AS kept")
    for name in try texts("SELECT name FROM main.sqlite_schema WHERE type = 'table' ORDER BY name") {
      let keys = try texts("SELECT name FROM pragma_table_info('\(name)') WHERE pk > 0 ORDER BY pk")
      tables.append((name, keys.isEmpty ? "rowid" : keys.joined(separator: ", ")))
      for column in try texts("SELECT name FROM pragma_table_info('\(name)')") {
        columns.append(Column(table: tables.count - 1, name: column))
      }
      try run("CREATE TABLE kept.\(name) AS SELECT * FROM main.\(name)")
    }
  }

  deinit {
    for statement in statements.values { sqlite3_finalize(statement) }
    sqlite3_close(database)
  }

  /// This connection reads the schema while it says nothing of types, checks and absence; the others read it
  /// as it was.
  private static func openWithoutRules(_ path: String) throws -> OpaquePointer {
    let first = try open(path)
    defer { sqlite3_close(first) }
    for sql in [
      "PRAGMA writable_schema = ON",
      "CREATE TEMP TABLE old AS SELECT name AS title, sql AS text FROM main.sqlite_schema",
      """
      UPDATE main.sqlite_schema SET sql = replace(replace(replace(replace(replace(sql,
        'IS NOT NULL', '@'), ' NOT NULL', ''), '@', 'IS NOT NULL'), ') STRICT, WITHOUT', ') WITHOUT'),
        ') STRICT', ')')
      WHERE type = 'table'
      """,
    ] { try run(sql, first) }
    let second = try open(path)
    // The schema is read with the first question.
    try run("SELECT count(*) FROM main.sqlite_schema; SELECT * FROM meta", second)
    let sql = "UPDATE main.sqlite_schema SET sql = (SELECT text FROM old WHERE title = name)"
    try run("\(sql); PRAGMA wal_checkpoint(TRUNCATE)", first)
    return second
  }

  private static func open(_ path: String) throws -> OpaquePointer {
    var database: OpaquePointer?
    guard sqlite3_open_v2(path, &database, SQLITE_OPEN_READWRITE, nil) == SQLITE_OK, let database else {
      throw Broken("\(path) cannot be opened")
    }
    return database
  }

  private static func run(_ sql: String, _ database: OpaquePointer) throws {
    guard sqlite3_exec(database, sql, nil, nil, nil) == SQLITE_OK else {
      throw Broken("\(String(cString: sqlite3_errmsg(database))): \(sql)")
    }
  }

  private func run(_ sql: String) throws { try RowDamage.run(sql, database) }

  /// What one input does to the rows, in one transaction. False when that is nothing.
  func apply(_ choices: inout Choices) throws -> Bool {
    let before = sqlite3_total_changes(database)
    try step("BEGIN IMMEDIATE")
    for _ in 0..<(1 + choices.below(3)) where !choices.isAtEnd { try change(&choices) }
    try step("COMMIT")
    return sqlite3_total_changes(database) != before
  }

  /// The rows as they were.
  func takeBack() throws {
    try step("BEGIN IMMEDIATE")
    for table in touched {
      let name = tables[table].name
      try step("DELETE FROM main.\(name)")
      try step("INSERT INTO main.\(name) SELECT * FROM kept.\(name)")
    }
    try step("COMMIT")
    touched.removeAll()
  }

  /// One column of one row, or the row as a whole. What breaks a uniqueness is not done.
  private func change(_ choices: inout Choices) throws {
    let column = columns[(choices.below(256) << 8 | choices.below(256)) % columns.count]
    let row = Int64(choices.below(10))
    let (table, key) = tables[column.table]
    touched.insert(column.table)
    // Of few rows one is always hit.
    let skipped = "?1 % max(1, (SELECT count(*) FROM main.\(table)))"
    let place = "(\(key)) = (SELECT \(key) FROM main.\(table) ORDER BY 1 LIMIT 1 OFFSET \(skipped))"
    let kind = choices.below(16)
    guard kind > 0 else { return try step("DELETE FROM main.\(table) WHERE \(place)", row) { _ in } }
    let old = kind > 10 ? try value("SELECT \(column.name) FROM main.\(table) WHERE \(place)", row) : []
    try step("UPDATE main.\(table) SET \(column.name) = ?2 WHERE \(place)", row) { statement in
      switch kind {
      case 1: sqlite3_bind_null(statement, 2)
      case 2: sqlite3_bind_int64(statement, 2, choices.int64())
      case 3: sqlite3_bind_int64(statement, 2, Int64(choices.byte()) - 8)
      case 4: sqlite3_bind_int64(statement, 2, choices.one(of: [.max, .min, 1 << 53, 1 << 32]))
      case 5: sqlite3_bind_double(statement, 2, Double(bitPattern: UInt64(bitPattern: choices.int64())))
      case 6: sqlite3_bind_double(statement, 2, choices.one(of: [.infinity, -.infinity, 0.5, -1, 1e300]))
      case 7, 8: bind(choices.run(), to: statement)
      case 9, 10:
        let blob = choices.run()
        outtray_bind_blob(statement, 2, blob, Int32(blob.count))
      default:
        // The same text with some of it replaced.
        var text = old
        let start = old.isEmpty ? 0 : choices.below(256) % old.count
        text.replaceSubrange(start..<min(start + choices.below(3), old.count), with: choices.bytes(kind & 3))
        bind(text, to: statement)
      }
    }
  }

  private func bind(_ text: [UInt8], to statement: OpaquePointer) {
    outtray_bind_text(statement, 2, text, Int32(text.count))
  }

  private func step(_ sql: String, _ row: Int64, _ bind: (OpaquePointer) -> Void) throws {
    try step(sql) {
      sqlite3_bind_int64($0, 1, row)
      bind($0)
    }
  }

  private func step(_ sql: String, _ bind: (OpaquePointer) -> Void = { _ in }) throws {
    let statement = try statement(sql)
    bind(statement)
    let code = sqlite3_step(statement)
    sqlite3_reset(statement)
    guard [SQLITE_DONE, SQLITE_CONSTRAINT, SQLITE_MISMATCH].contains(code & 0xFF) else {
      throw Broken("\(String(cString: sqlite3_errmsg(database))): \(sql)")
    }
  }

  private func value(_ sql: String, _ row: Int64) throws -> [UInt8] {
    let statement = try statement(sql)
    sqlite3_bind_int64(statement, 1, row)
    defer { sqlite3_reset(statement) }
    guard sqlite3_step(statement) == SQLITE_ROW else { return [] }
    let start = sqlite3_column_blob(statement, 0)
    return [UInt8](UnsafeRawBufferPointer(start: start, count: Int(sqlite3_column_bytes(statement, 0))))
  }

  private func texts(_ sql: String) throws -> [String] {
    let statement = try statement(sql)
    defer { sqlite3_reset(statement) }
    var texts: [String] = []
    while sqlite3_step(statement) == SQLITE_ROW {
      texts.append(String(cString: sqlite3_column_text(statement, 0)))
    }
    return texts
  }

  private func statement(_ sql: String) throws -> OpaquePointer {
    if let statement = statements[sql] { return statement }
    var statement: OpaquePointer?
    guard sqlite3_prepare_v2(database, sql, -1, &statement, nil) == SQLITE_OK, let statement else {
      throw Broken("\(String(cString: sqlite3_errmsg(database))): \(sql)")
    }
    statements[sql] = statement
    return statement
  }
}
