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

  @Test("D36: an answer of the server's that could not be committed is kept and settles later")
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
}
