import Foundation
import QueueEngine
import QueueModel
import Testing

@testable import QueueStore

/// A store that fails under the engine.
@Suite struct TroubleTests {
  private static let failedSync: Int32 = 10 | 4 << 8

  /// The next sync fails, and so does every try to open the database again until `mend`.
  private func breakStore(_ harness: Harness) {
    let database = "\(harness.directory)/queue.db"
    let hasFailed = Box(false)
    harness.store.tables.connection.syncLog = { _ in
      if hasFailed.value { return 0 }
      hasFailed.value = true
      do {
        try FileManager.default.moveItem(atPath: database, toPath: "\(database).away")
        try FileManager.default.createDirectory(atPath: database, withIntermediateDirectories: false)
      } catch {
        Issue.record("\(error)")
      }
      return TroubleTests.failedSync
    }
  }

  private func mend(_ harness: Harness) throws {
    let database = "\(harness.directory)/queue.db"
    try FileManager.default.removeItem(atPath: database)
    try FileManager.default.moveItem(atPath: "\(database).away", toPath: database)
    harness.advance(60_000)
  }

  @Test("D36: nothing is answered or sent while nobody knows whether it stands; then it is, once")
  func unsettled() throws {
    let harness = try Harness()
    try harness.subscribe()
    breakStore(harness)
    let first = try harness.beginEnqueue("a")
    let second = try harness.beginEnqueue("b")
    harness.advance(1000)
    #expect(first.count == 0 && second.count == 0)
    #expect(harness.transport.started.isEmpty && harness.host.names.isEmpty)
    try mend(harness)
    #expect(try first.get().disposition == .created)
    #expect(try second.get().disposition == .created)
    #expect(harness.transport.running.map(\.attempt.entry) == [1, 2])
    #expect(harness.host.names.prefix(3) == ["reply a", "state a queued", "state a running"])
    try harness.answer(200)
    #expect(harness.host.settled.count == 1)
  }

  @Test("D36: a store that rests is asked again at its time, not at once because something has become due")
  func restIsQuiet() throws {
    let harness = try Harness()
    try harness.enqueue()
    try harness.answer(500)
    let connection = harness.store.tables.connection
    try connection.execute("PRAGMA query_only = 1")
    harness.send(.cancel(EntryID("a"), Replies<Void>().completion))
    harness.advance(40_000)
    let wanted = try #require(harness.engine.deadline().steady)
    #expect(wanted > harness.clock.now().steady && !harness.engine.hasMore)
    try connection.execute("PRAGMA query_only = 0")
    harness.advance(60_000)
    #expect(harness.transport.started.count == 2)
  }

  @Test("D34, D36: a network that could not be taken in gives way to a newer one, not the other way round")
  func networks() throws {
    let harness = try Harness()
    harness.send(.networkDetected(Network(kind: .none), isNewRoute: false))
    try harness.enqueue("a", Sample.data(1, #""wifiOnly":true"#))
    let connection = harness.store.tables.connection
    // The start of "a" fails, and a turn that writes nothing does not.
    try connection.execute(
      "CREATE TEMP TRIGGER fails BEFORE UPDATE ON entry BEGIN SELECT RAISE(ABORT, 'fails'); END")
    harness.send(.networkDetected(Network(kind: .wifi), isNewRoute: true))
    harness.send(.networkDetected(Network(kind: .cellular), isNewRoute: false))
    try connection.execute("DROP TRIGGER fails")
    harness.advance(60_000)
    #expect(harness.transport.started.isEmpty)
    harness.send(.networkDetected(Network(kind: .wifi), isNewRoute: false))
    #expect(harness.transport.started.count == 1)
  }

  @Test("D36, B203: an answer of the server's that could not be committed is kept and settles later, once")
  func lateCommit() throws {
    let harness = try Harness()
    try harness.subscribe()
    try harness.enqueue("a")
    breakStore(harness)
    let cancel = Replies<Void>()
    harness.send(.cancel(EntryID("nobody"), cancel.completion))
    try cancel.get()
    try harness.answer(200)
    #expect(harness.host.settled.isEmpty)
    try mend(harness)
    #expect(harness.host.settled.map(\.outcome.settlement.kind) == [.completed])
    #expect(harness.transport.started.count == 1)
  }

  /// Changes of entries are refused from now on, or work again.
  private func refuseChanges(_ harness: Harness, _ refused: Bool) throws {
    try harness.store.tables.connection.execute(
      refused
        ? "CREATE TEMP TRIGGER refuse BEFORE UPDATE ON entry BEGIN SELECT RAISE(ABORT, 'refused'); END"
        : "DROP TRIGGER refuse")
  }

  @Test("B204: where the start of an attempt cannot be stored nothing is sent; it is tried again later")
  func refusedStart() throws {
    let harness = try Harness()
    try harness.enqueue("a", Sample.data(1, #""retry":{"backoff":{"baseMs":500,"maxMs":500,"jitter":0}}"#))
    try harness.answer(503)
    try refuseChanges(harness, true)
    harness.pass(800)
    #expect(harness.transport.running.isEmpty)
    #expect(try harness.row()?.attempts == 1)
    #expect(try harness.state() == .queued)
    try refuseChanges(harness, false)
    harness.pass(60_000)
    #expect(harness.transport.running.map(\.attempt.ordinal) == [2])
    try harness.answer(200)
    #expect(harness.transport.started.count == 2)
  }

  @Test("B232, B233: a cancel that cannot be stored changes nothing; a later one makes one outcome")
  func refusedCancel() throws {
    let harness = try Harness()
    try harness.subscribe()
    try harness.enqueue()
    harness.host.clear()
    try refuseChanges(harness, true)
    for _ in 0..<2 {
      let refusal = #expect(throws: Refusal.self) { try harness.cancel() }
      guard case .storage? = refusal else {
        Issue.record("not E_STORAGE: \(String(describing: refusal))")
        return
      }
    }
    #expect(harness.host.names.isEmpty && harness.transport.stopped.isEmpty)
    #expect(try harness.state() == .running)
    try refuseChanges(harness, false)
    try harness.cancel()
    #expect(harness.transport.stopped.count == 1)
    #expect(harness.host.settled.map(\.outcome.settlement.kind) == [.cancelled])
    try harness.cancel()
    #expect(harness.host.settled.count == 1)
    #expect(try harness.row() == nil)
  }
}
