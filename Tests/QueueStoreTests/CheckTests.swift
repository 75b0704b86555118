import QueueModel
import Testing

@testable import QueueStore

@Suite("States that cannot be wrong, in the database too")
struct CheckTests {
  static let wrong = [
    "UPDATE entry SET state = 'paused'", "UPDATE entry SET due = NULL", "UPDATE entry SET is_backoff = NULL",
    "UPDATE entry SET spread = 1.0", "UPDATE entry SET spread = NULL", "UPDATE entry SET is_backoff = 2",
    "UPDATE entry SET attempt_ordinal = 1", "UPDATE entry SET attempt_request_id = 'r'",
    "UPDATE entry SET attempt_revision = 0", "UPDATE entry SET parked_revision = 0",
    "UPDATE entry SET settled_event = 'x'", "UPDATE entry SET state = 'running'",
    "UPDATE entry SET state = 'awaiting-auth'", "UPDATE entry SET state = 'completed'",
    "UPDATE entry SET state = 'completed', settled_event = 'x'",
    "UPDATE entry SET generation = 0", "UPDATE entry SET attempts = -1", "UPDATE entry SET bytes_sent = -1",
    "UPDATE entry SET id = ''", "UPDATE entry SET id = printf('%.257c', 'x')", "UPDATE entry SET id = NULL",
    "UPDATE entry SET expires_at = 'soon'", "UPDATE entry SET body_length = 65537",
    "UPDATE entry SET body_place = 'file'", "UPDATE entry SET body_file = 'f'",
    "UPDATE entry SET body_place = 'none'", "UPDATE entry SET body_kind = 'none'",
    "UPDATE entry SET body_kind = 'stream'", "UPDATE bucket SET queued = -1", "UPDATE bucket SET waking = 2",
    "UPDATE bucket SET wifi_only = 3", "UPDATE bucket SET priority = 'low'", "UPDATE bucket SET queued = 0",
    "UPDATE outcome SET deliveries = -1", "UPDATE entry_text SET body = zeroblob(65537)",
    "INSERT INTO diagnostic VALUES (1, 0, 1, 'fatal', 'm', NULL, NULL)",
    "INSERT INTO meta SELECT 2, '', 1, '', 1, 1, 1",
  ]

  @Test("D35: the database refuses what no entry, bucket or outcome can be", arguments: wrong)
  func refused(_ sql: String) throws {
    let directory = try TemporaryDirectory()
    let store = try openStore(directory.queue)
    let saved = try entry(1, body: StagedBody(kind: .data, length: 2, place: .row))
    try store.write(durable: true) { writer in
      try writer.insert(saved)
      _ = try writer.append(outcome("x", of: saved))
    }
    try withDatabase(of: directory.queue) { database in
      let error = #expect(throws: StoreError.self) { try database.execute(sql) }
      // SQLITE_CONSTRAINT, whatever kind.
      if case .failed(let code, _)? = error {
        #expect(code & 0xFF == 19)
      } else {
        Issue.record("\(error as Any)")
      }
    }
  }

  @Test(
    "what writes a row makes no table of the constants in its conditions",
    arguments: ["INSERT INTO entry DEFAULT VALUES", "UPDATE entry SET state = 'queued' WHERE number = 1"])
  func withoutTables(_ sql: String) throws {
    let directory = try TemporaryDirectory()
    let store = try openStore(directory.queue)
    try withExtendedLifetime(store) {
      let steps = try withDatabase(of: directory.queue) { database in
        try Statement(database, "EXPLAIN \(sql)").all { row in
          _ = row.int()
          return row.text()
        }
      }
      #expect(steps.contains("MakeRecord"))
      #expect(!steps.contains("OpenEphemeral"))
    }
  }

  @Test("D4: what expires is found by its index")
  func expiryByIndex() throws {
    let directory = try TemporaryDirectory()
    let store = try openStore(directory.queue)
    try withExtendedLifetime(store) {
      let plan = try withDatabase(of: directory.queue) { database in
        try Statement(
          database,
          """
          EXPLAIN QUERY PLAN SELECT e.number FROM entry e
          WHERE e.bucket = 1 AND \(mayExpire("e.state")) AND e.expires_at <= 1 ORDER BY e.expires_at, e.number
          """
        ).all { row in
          for _ in 0..<3 { _ = row.int() }
          return row.text()
        }
      }
      #expect(plan.count == 1)
      #expect(plan[0].contains("entry_expiry"))
    }
  }

  @Test("D10, B8: ids are unique byte by byte")
  func uniqueIDs() throws {
    let directory = try TemporaryDirectory()
    let store = try openStore(directory.queue)
    #expect(throws: StoreError.self) {
      try store.write(durable: true) { writer in
        try writer.insert(entry(1, id: "same"))
        try writer.insert(entry(2, id: "same"))
      }
    }
    try #expect(store.reader.entry(id: EntryID("same")) == nil)
  }
}
