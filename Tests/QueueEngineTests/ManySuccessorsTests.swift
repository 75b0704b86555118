import JSONText
import QueueModel
import Testing

@testable import QueueEngine
@testable import QueueStore

/// What the end of one entry means for very many.
@Suite struct ManySuccessorsTests {
  /// Copies the entry and its links `count` times, beneath the engine: a hundred thousand calls take minutes.
  private func copy(_ id: String, count: Int, in harness: Harness) throws {
    let names = ["number", "id"]
    let columns = EntryRow.columns(of: EntryRow.Part.allCases).filter { !names.contains($0) }
      .joined(separator: ", ")
    try harness.store.write(durable: false) { writer in
      let entry = try #require(try writer.entry(id: EntryID(id)))
      try writer.tables.connection.execute(
        """
        CREATE TEMP TABLE series AS
          WITH RECURSIVE s (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM s WHERE n < \(count)) SELECT n FROM s;
        INSERT INTO entry (number, id, \(columns))
          SELECT number + n, id || n, \(columns) FROM entry, series WHERE number = \(entry.number);
        INSERT INTO entry_text
          SELECT number + n, vars, request, lane, sent_url, sent_length, body FROM entry_text, series
          WHERE number = \(entry.number);
        INSERT INTO dependency (successor, predecessor, is_met, settles, is_open)
          SELECT successor + n, predecessor, is_met, settles, is_open FROM dependency, series
          WHERE successor = \(entry.number);
        INSERT INTO binding
          SELECT successor + n, name, predecessor, pointer, header, value FROM binding, series
          WHERE successor = \(entry.number);
        UPDATE bucket SET held = held + \(count) WHERE held > 0;
        """)
    }
    try harness.relaunch(downtime: 0)
  }

  private func waiting(_ harness: Harness) throws -> Int64 {
    try harness.store.reader.counts().map(\.held).reduce(0, +)
  }

  @Test("D45: a hundred thousand that wait for one are told in bounded turns, and others go on meanwhile")
  func hundredThousand() throws {
    let harness = try Harness()
    try harness.link("a")
    try harness.link("s", #""bind":{"v":{"entry":"a","pointer":"/v"}}"#, #"{"url":"http://h.test/{v}"}"#)
    try copy("s", count: 100_000, in: harness)
    let attempt = try harness.sent("a").attempt
    harness.engine.process([.report(attempt, .finished(.answer(200, body: #"{"v":7}"#)))])
    #expect(try waiting(harness) == 100_001 - 256)
    #expect(harness.engine.hasMore)
    let replies = Replies<EnqueueAnswer>()
    harness.engine.process([
      .enqueue(try Sample.linked("other"), from: harness.hostID, replies.completion)
    ])
    #expect(try replies.get().disposition == .created)
    for turn in 3...6 {
      harness.engine.process([])
      #expect(try waiting(harness) <= 100_001 - Int64(turn) * 256)
    }
    let left = try waiting(harness)
    #expect(left > 90_000)
    // The answer may be acknowledged long before the last of them takes its value.
    try harness.relaunch(downtime: 0, connects: false)
    #expect(try waiting(harness) >= left - 256)
    #expect(!harness.engine.isDrained())
  }

  @Test("D45, D37: an end that cannot be read is told of, and those after it are carried out")
  func unreadable() throws {
    let harness = try Harness()
    try harness.store.write(durable: true) { writer in
      try writer.tables.connection.execute(
        "INSERT INTO consequence (id, through, outcome) VALUES ('gone', 0, '{'), ('other', 0, NULL)")
    }
    try harness.relaunch()
    let records: [Diagnostic] = try harness.call { .diagnostics($0) }
    let told = records.filter { $0.level == .error }.map(\.message)
    #expect(told == ["the end of gone could not be read; entries that wait for it are not told of it"])
    let left = try harness.store.reader.tables.connection.integer("SELECT count(*) FROM consequence")
    #expect(left == 0)
  }

  @Test("D45, D46: a death between any two turns changes nothing", arguments: [true, false])
  func dies(_ completes: Bool) throws {
    let harness = try Harness()
    let bind = #""bind":{"v":{"entry":"a","pointer":"/v"}},"onFailure":"settle""#
    try harness.link("a")
    try harness.link("s", bind, #"{"url":"http://h.test/{v}"}"#)
    try copy("s", count: 700, in: harness)
    try harness.link("t", #""after":["s"],"onFailure":"settle""#)
    try harness.pause("none")
    let attempt = try harness.sent("a").attempt
    harness.engine.process([
      .report(attempt, .finished(.answer(completes ? 200 : 400, body: #"{"v":7}"#)))
    ])
    for _ in 0..<4 { try harness.relaunch(downtime: 0, connects: false) }
    try harness.relaunch(downtime: 0)
    harness.settle()
    let stats = try harness.stats().entries
    #expect(try waiting(harness) == (completes ? 1 : 0))
    #expect(stats[.error] == (completes ? 0 : 703))
    guard completes else { return }
    #expect(try harness.sent("s").url.text == "http://h.test/7")
    let values = try harness.store.reader.bindings(
      of: try #require(try harness.store.reader.entry(id: EntryID("s700"))).number)
    #expect(values.map { $0.value?.description } == ["7"])
  }
}
