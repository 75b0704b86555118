import CSQLite

/// A reader of JSON that others wrote: SQLite's. It reads C strings, and does not look at UTF-8.
final class SQLiteJSON {
  struct Node: Equatable {
    /// `object`, `array`, `text`, `integer`, `real`, `true`, `false` or `null`.
    var type: String
    /// Of a member; nil elsewhere.
    var name: [UInt8]?
    /// Of a text, decoded.
    var text: [UInt8]?
  }

  private var database: OpaquePointer?
  private var valid: OpaquePointer?
  private var tree: OpaquePointer?

  init() throws {
    guard sqlite3_open(":memory:", &database) == SQLITE_OK,
      prepare("SELECT json_valid(?)", &valid),
      prepare("SELECT type, iif(typeof(key) = 'text', key, NULL), atom FROM json_tree(?)", &tree)
    else { throw Broken("SQLite cannot be used") }
  }

  deinit {
    sqlite3_finalize(valid)
    sqlite3_finalize(tree)
    sqlite3_close(database)
  }

  func isValid(_ text: [UInt8]) -> Bool {
    outtray_bind_text(valid, 1, text, Int32(text.count))
    defer { sqlite3_reset(valid) }
    return sqlite3_step(valid) == SQLITE_ROW && sqlite3_column_int(valid, 0) == 1
  }

  /// Every value of the text, each before those in it.
  func nodes(_ text: [UInt8]) -> [Node] {
    outtray_bind_text(tree, 1, text, Int32(text.count))
    defer { sqlite3_reset(tree) }
    var nodes: [Node] = []
    while sqlite3_step(tree) == SQLITE_ROW {
      let type = String(decoding: bytes(0) ?? [], as: UTF8.self)
      nodes.append(Node(type: type, name: bytes(1), text: type == "text" ? bytes(2) : nil))
    }
    return nodes
  }

  private func bytes(_ column: Int32) -> [UInt8]? {
    guard sqlite3_column_type(tree, column) != SQLITE_NULL else { return nil }
    let start = sqlite3_column_blob(tree, column)
    return [UInt8](UnsafeRawBufferPointer(start: start, count: Int(sqlite3_column_bytes(tree, column))))
  }

  private func prepare(_ sql: String, _ statement: inout OpaquePointer?) -> Bool {
    sqlite3_prepare_v2(database, sql, -1, &statement, nil) == SQLITE_OK
  }
}
