import JSONText
import QueueEngine
import QueueModel
import Testing

@testable import QueueStore

/// Cancel when the store does not take it.
@Suite struct CancelStorageTests {
  /// From now on the statement fails, as on a full disk.
  private func forbid(_ statement: String, in harness: Harness) throws {
    try database(of: harness) {
      try $0.execute("CREATE TRIGGER full BEFORE \(statement) BEGIN SELECT RAISE(ABORT, 'full'); END")
    }
  }

  private func allow(_ harness: Harness) throws {
    try database(of: harness) { try $0.execute("DROP TRIGGER full") }
    // The engine rests after a failure.
    harness.advance(60_000)
  }

  private func database(of harness: Harness, _ work: (Connection) throws -> Void) throws {
    try work(try Connection(path: Array("\(harness.directory)/queue.db".utf8), .readWrite))
  }

  private func expectStorage(_ harness: Harness) {
    #expect { try harness.cancel() } throws: { if case .storage = $0 as? Refusal { true } else { false } }
  }

  @Test(
    "B232, B233: outcome and row are one: if either fails it is E_STORAGE, and nothing happened",
    arguments: ["INSERT ON outcome", "UPDATE ON entry"])
  func live(statement: String) throws {
    let harness = try Harness()
    try harness.subscribe()
    try harness.enqueue()
    let attempt = try harness.attempt()
    harness.host.clear()
    try forbid(statement, in: harness)
    for _ in 0..<2 { expectStorage(harness) }
    #expect(harness.transport.stopped.isEmpty)
    #expect(harness.host.names.isEmpty)
    #expect(try harness.state() == .running)
    try allow(harness)
    #expect(harness.host.names.isEmpty)
    try harness.cancel()
    #expect(harness.transport.stopped == [attempt])
    #expect(harness.host.names == ["progress a 0", "state a cancelled", "settled a cancelled"])
    try harness.relaunch()
    try harness.subscribe()
    #expect(harness.host.settled.count == 1)
    #expect(harness.host.settled.first?.deliveries == 2)
  }

  @Test("B230, B232: a settled one that cannot be deleted stays with its outcome; the next cancel clears it")
  func settled() throws {
    let harness = try Harness()
    try harness.enqueue()
    try harness.answer(400)
    try forbid("DELETE ON entry", in: harness)
    expectStorage(harness)
    #expect(try harness.state() == .error)
    #expect(try harness.stats().unacknowledged == 1)
    try allow(harness)
    try harness.cancel()
    #expect(try harness.rows().isEmpty)
    #expect(try harness.stats().unacknowledged == 0)
  }

  @Test("B233: a cancel that stands resolves once that is known, with one outcome; a repeat makes no second")
  func inDoubt() throws {
    let harness = try Harness()
    try harness.subscribe()
    try harness.enqueue()
    let attempt = try harness.attempt()
    harness.host.clear()
    let hasFailed = Box(false)
    harness.store.tables.connection.syncLog = { handle in
      if hasFailed.value { return 0 }
      hasFailed.value = true
      return 10 | 4 << 8
    }
    try harness.cancel()
    #expect(hasFailed.value)
    #expect(harness.transport.stopped == [attempt])
    #expect(harness.host.settled.count == 1)
    try harness.cancel()
    #expect(try harness.rows().isEmpty)
    #expect(harness.host.settled.count == 1)
  }

  @Test("B236: with nobody there the outcome waits uncounted; who listens to states alone is told the state")
  func withoutListener() throws {
    let harness = try Harness()
    try harness.subscribe([.state])
    try harness.enqueue()
    harness.host.clear()
    try harness.cancel()
    #expect(harness.host.names == ["state a cancelled"])
    let (id, host) = harness.connect()
    try harness.subscribe([.settled], as: id)
    #expect(host.settled.map(\.deliveries) == [1])
  }

  @Test("B302: an id without a row is no error, nor is one whose row was forgotten or never made")
  func withoutRow() throws {
    let harness = try Harness()
    try harness.subscribe()
    try harness.cancel("never")
    try harness.enqueue()
    try harness.answer(200)
    try harness.acknowledge(harness.host.eventIDs)
    try harness.cancel()
    #expect(throws: Refusal.self) { try harness.enqueue("b", Sample.file("/nowhere/at/all")) }
    try harness.cancel("b")
    #expect(try harness.rows().isEmpty)
  }

  @Test("B151: two changes of one entry in one turn are both kept")
  func twoChanges() throws {
    let harness = try Harness()
    try harness.pause()
    try harness.enqueue("a", vars: #"{"n":1}"#)
    let again = try Sample.enqueue("a", vars: #"{"n":2}"#)
    let headers = try Sample.headers(#"{"X-A":"patched"}"#)
    harness.send(
      .enqueue(again, from: harness.hostID) { _ in },
      .updateHeaders(headers, keys: nil, origin: nil) { _ in }, .resume(nil) { _ in })
    #expect(try harness.row()?.vars.description == #"{"n":2}"#)
    #expect(harness.transport.running.first?.headers["X-A"] == "patched")
  }

  @Test("B152: what is refused, or changes nothing, writes nothing")
  func writesNothing() throws {
    let harness = try Harness()
    try harness.enqueue()
    try harness.resume("other")
    let turn = harness.store.turn
    let row = try harness.row()
    #expect(throws: Refusal.self) { try harness.enqueue("a", Sample.data(2)) }
    try harness.resume()
    try harness.pause(keys: [])
    try harness.acknowledge(["unknown"])
    try harness.cancel("unknown")
    #expect(harness.store.turn == turn)
    #expect(try harness.row()?.updatedAt == row?.updatedAt)
  }

  @Test(
    "B157: vars are text: kept as they were written, and never made anew",
    arguments: [
      #"{ "b":1.10, "a":[1E5 , -0, 12345678901234567890], "b":2 }"#, #"["\u0041\/<&>","é"]"#, "null",
    ])
  func vars(_ text: String) throws {
    let harness = try Harness()
    try harness.subscribe()
    try harness.enqueue("a", vars: text)
    #expect(try harness.row()?.vars.description == text)
    try harness.relaunch()
    try harness.subscribe()
    #expect(try harness.row()?.vars.description == text)
    try harness.cancel()
    #expect(harness.host.settled.first?.outcome.vars.description == text)
  }
}

extension Harness {
  fileprivate func pause(keys: Set<EntryKey>) throws { try call { .pause(PauseScope(keys: keys), $0) } }
}
