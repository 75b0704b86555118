import JSONText
import QueueModel
import Testing

@testable import QueueStore

@Suite("Rows whose content no writer of ours gave them")
struct OddRowsTests {
  /// A queue with one entry, whose body lies in the database, after `harm` was done to it.
  private func verification(after harm: String) throws -> (Verification, Reader) {
    let directory = try TemporaryDirectory()
    do {
      let store = try openStore(directory.queue)
      let request = try descriptor(more: ",\"data\":[1]")
      try store.write(durable: true) { writer in
        try writer.insert(
          entry(1, request: request, body: StagedBody(kind: .data, length: 3, place: .row)))
        try writer.putRowBody(1, Array("[1]".utf8))
      }
    }
    try withDatabase(of: directory.queue) { database in
      try database.execute("PRAGMA ignore_check_constraints = ON")
      try database.execute(harm)
    }
    let reader = try Reader(reading: directory.queue)
    return (try reader.verify(), reader)
  }

  private static let least = "-9223372036854775808"

  @Test(
    "D37: a row whose numbers no sum could hold reads as absent, and verify says so",
    arguments: [
      "attempts = 9223372036854775807", "created_at = \(least)", "due = 9223372036854775807",
      "body_length = -1", "sources = '[[-1,2]]'", "expires_at = 1152921504606846977",
    ])
  func numbers(change: String) throws {
    let (verification, reader) = try verification(after: "UPDATE entry SET \(change)")
    try #expect(reader.entry(number: 1) == nil)
    #expect(
      verification.checks.first { $0.name == "entries" }?.problems.contains { $0.hasPrefix("e1: ") } == true)
  }

  @Test("D37: the highest numbers count on behind a row whose own is out of range")
  func highest() throws {
    let (_, reader) = try verification(after: "UPDATE entry SET number = 9223372036854775807")
    try #expect(reader.tables.entries.highestNumber() == 0)
  }

  static let unreadable = [
    ("UPDATE entry_text SET body = CAST('{' AS BLOB)", "entries", "e1: its body is no JSON any more"),
    (
      "INSERT INTO part_text VALUES (1, 0, 'no url', NULL, 0, 1)", "parts",
      "1 requests of parts cannot be read"
    ),
    (
      "INSERT INTO binding VALUES (1, 'n', 'e9', '', NULL, '{')", "dependencies", "1 bindings cannot be read"
    ),
    ("INSERT INTO header_patch VALUES (1, '{', NULL, NULL)", "settings", "1 header patches cannot be read"),
    (
      "INSERT INTO header_patch VALUES (1, '{}', '[', NULL)", "settings", "1 header patches cannot be read"
    ),
    (
      "INSERT INTO setting VALUES ('configuration', '{\"http2\":3}')", "settings",
      "setting configuration cannot be read"
    ),
    ("INSERT INTO setting VALUES ('paused', 'maybe')", "settings", "setting paused cannot be read"),
    (
      "INSERT INTO diagnostic (is_boot, at, level, message, figures) VALUES (0, 1, 'info', 'm', '{')",
      "diagnostics", "1 diagnostics cannot be read"
    ),
  ]

  @Test("D37: what cannot be read, and counts as not there, is told by verify", arguments: unreadable)
  func told(harm: String, check: String, problem: String) throws {
    let (verification, _) = try verification(after: harm)
    #expect(verification.checks.first { $0.name == check }?.problems.contains(problem) == true)
  }

  @Test("D5, D37: a body in the database that is no JSON any more is no body to compare with")
  func storedData() throws {
    let (_, reader) = try verification(after: "UPDATE entry_text SET body = CAST('[[[' AS BLOB)")
    try #expect(reader.storedData(of: reader.entry(number: 1)) == nil)
  }

  @Test("D48: a group whose sums are infinite has made no progress that can be told", arguments: [0, 1])
  func progress(weight: Double) {
    var progress = GroupProgress()
    progress.weight = .infinity
    progress.done = .infinity * (1 - 2 * weight)
    #expect(progress.value == 0)
  }
}
