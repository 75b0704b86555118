import Foundation
import QueueModel
import Testing

@testable import QueueEngine
@testable import QueueStore

/// Damage of the database that shows while the engine runs.
@Suite struct DamageTests {
  /// Everything behind the first page of the database becomes nonsense, also what SQLite remembers of it.
  private func damage(_ harness: Harness) throws {
    let connection = harness.store.tables.connection
    try #expect(connection.checkpoint(truncating: true, patient: true))
    let file = try FileHandle(forWritingTo: URL(fileURLWithPath: "\(harness.directory)/queue.db"))
    let length = try file.seekToEnd()
    try file.seek(toOffset: 4096)
    try file.write(contentsOf: Data(repeating: 0x5A, count: Int(length) - 4096))
    try file.close()
    try connection.execute("PRAGMA shrink_memory")
  }

  private func storageRefusal<Value>(_ command: (@escaping Completion<Value>) -> Command, _ harness: Harness)
  {
    let replies = Replies<Value>()
    harness.send(command(replies.completion))
    let refusal = #expect(throws: Refusal.self) { try replies.get() }
    guard case .storage(let message)? = refusal else {
      Issue.record("\(refusal as Any)")
      return
    }
    #expect(!message.isEmpty)
  }

  @Test("D37: damage stops all sending and refuses all changes; what is asked is answered; one diagnostic")
  func whileRunning() throws {
    let harness = try Harness()
    try harness.subscribe()
    try harness.enqueue("a")
    try harness.enqueue("b")
    harness.holdStaging()
    let staging = try harness.beginEnqueue("c", Sample.file(try harness.source()))
    let waiting = Replies<Void>()
    harness.send(.cancel(EntryID("c"), waiting.completion))
    _ = try harness.call { Command.diagnostics($0) }
    try damage(harness)

    storageRefusal({ .pause(nil, $0) }, harness)
    #expect(harness.transport.running.isEmpty)
    #expect(Set(harness.transport.stopped.map(\.entry)) == [1, 2])
    #expect(throws: Refusal.self) { try staging.get() }
    #expect(throws: Refusal.self) { try waiting.get() }
    harness.releaseStaging()
    storageRefusal({ .cancel(EntryID("a"), $0) }, harness)
    storageRefusal({ .rows(RowQuery(), $0) }, harness)
    let late = try Sample.enqueue("d")
    storageRefusal({ .enqueue(late, from: harness.hostID, $0) }, harness)
    harness.transport.finish(harness.transport.stopped[0], .answer(200))
    harness.settle()
    harness.pass(3_600_000)
    #expect(harness.transport.started.count == 2)

    let told = try harness.call { Command.diagnostics($0) }
    #expect(told.map(\.level) == [.error])
    #expect(told.first?.message.contains("damaged") == true)
    try #expect(harness.call { Command.diagnostics($0) }.isEmpty)
    // Nobody has to wake up, wait for a drain, or come round at once.
    #expect(harness.engine.deadline() == Deadline())
    #expect(harness.engine.isDrained() && !harness.engine.hasMore)

    try harness.relaunch()
    try harness.enqueue("d")
    let next = try harness.call { Command.diagnostics($0) }
    #expect(next.filter { $0.level == .error }.count == 1)
  }

  @Test(
    "D37: damage that a read or the housekeeping meets stops the sending as well", arguments: [false, true])
  func met(byRead: Bool) throws {
    let harness = try Harness()
    try harness.enqueue("a")
    if byRead {
      try damage(harness)
      storageRefusal({ .stats($0) }, harness)
    } else {
      harness.store.meet(.failed(code: 11, message: "malformed"))
      #expect(harness.engine.hasMore)
      harness.settle()
    }
    #expect(harness.transport.running.isEmpty)
    #expect(!harness.engine.hasMore)
    storageRefusal({ .pause(nil, $0) }, harness)
  }

  @Test("D37: damage that the start itself meets ends it not: the process answers, and sends nothing")
  func atStart() throws {
    let harness = try Harness()
    harness.store.meet(.failed(code: 26, message: "not a database"))
    try harness.engine.recover()
    storageRefusal({ .resume(nil, $0) }, harness)
    #expect(harness.engine.deadline() == Deadline())
  }

  @Test("D36: an answer that could not be committed is taken up before the next call, though the store rests")
  func kept() throws {
    let harness = try Harness()
    try harness.enqueue("a")
    try harness.setReadOnly(true)
    try harness.answer(200)
    try harness.setReadOnly(false)
    try harness.pause()
    #expect(try harness.state("a") == .completed)
    #expect(harness.transport.started.count == 1)
  }

  @Test("D36, B303: a store that cannot be written is told of once, when it can be; nobody spins meanwhile")
  func full() throws {
    let harness = try Harness()
    _ = try harness.call { Command.diagnostics($0) }
    try harness.setReadOnly(true)
    for _ in 1...3 { storageRefusal({ .pause(nil, $0) }, harness) }
    try #expect(harness.rows().isEmpty)
    for _ in 0..<20 {
      let deadline = try #require(harness.engine.deadline().steady)
      let wait = deadline - harness.clock.now().steady
      try #require((1...60_000).contains(wait))
      harness.advance(wait)
    }
    try harness.setReadOnly(false)
    harness.advance(60_000)
    #expect(harness.engine.deadline() == Deadline())
    try harness.pause()
    let told = try harness.call { Command.diagnostics($0) }
    #expect(told.map(\.level) == [.error])
    #expect(told.first?.message.contains("cannot be written") == true)
  }
}
