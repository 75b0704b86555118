import CSQLite
import QueueModel
import Testing

@testable import QueueEngine
@testable import QueueStore

/// What becomes of commands, and of the engine's pace, when turns fail (D36).
@Suite struct FailedTurnTests {
  private let large = String(repeating: "x", count: 100_000)

  private func beginStaged(_ harness: Harness, _ id: String = "a") throws -> Replies<EnqueueAnswer> {
    try harness.beginEnqueue(id, Sample.file(try harness.source(id, large)))
  }

  private func pauseOther(_ reply: Replies<Void> = Replies()) -> Command {
    .pause(PauseScope(keys: [EntryKey("other")]), reply.completion)
  }

  /// Ticks as a timer would, as long as one is wanted at once.
  private func ticksAtOnce(_ harness: Harness) -> Int {
    for ticks in 0..<100 {
      guard let due = harness.engine.deadline().steady, due <= harness.clock.now().steady else {
        return ticks
      }
      harness.engine.process([.tick])
    }
    return 100
  }

  /// An engine in which the body of "a" is there, and a cancel of it has waited for that and cannot be
  /// written.
  private func harnessWithWaiter() throws -> (
    harness: Harness, staged: Replies<EnqueueAnswer>, cancel: Replies<Void>
  ) {
    let harness = try Harness()
    harness.holdStaging()
    let staged = try beginStaged(harness)
    let cancel = Replies<Void>()
    harness.send(.cancel(EntryID("a"), cancel.completion))
    try harness.failUpdates(of: "entry")
    return (harness, staged, cancel)
  }

  // MARK: Pace

  @Test(
    "D36: progress that is held back wakes nobody, and is not kept, while nothing can be written",
    arguments: [true, false])
  func heldBack(isInDoubt: Bool) throws {
    let harness = try Harness()
    try harness.subscribe([.progress])
    try harness.enqueue("a", Sample.file(try harness.source("1", large)))
    let attempt = try harness.attempt()
    for bytes: Int64 in [10, 20] {
      harness.transport.progress(attempt, bytes)
      harness.settle()
    }
    if isInDoubt { harness.breakStore() } else { try harness.setReadOnly(true) }
    harness.send(pauseOther())
    harness.clock.advance(300)
    #expect(ticksAtOnce(harness) == 0)
    for bytes: Int64 in 21...60 {
      harness.transport.progress(attempt, bytes)
      harness.settle()
    }
    #expect(harness.engine.kept.isEmpty)
  }

  @Test("D36: a walk that could go on has to wait for a store in doubt")
  func walk() throws {
    let harness = try Harness()
    for number in 0..<300 { try harness.enqueue("e\(number)") }
    try harness.subscribe([.state])
    harness.host.setBehind(true)
    try harness.pause()
    harness.breakStore()
    harness.engine.process([pauseOther()])
    harness.host.setBehind(false)
    #expect(!harness.engine.hasMore)
  }

  @Test("D36: what can never be written holds nothing else up, is tried less and less, and told of once")
  func poison() throws {
    let harness = try Harness()
    _ = try harness.call { Command.diagnostics($0) }
    try harness.enqueue("a")
    try harness.failUpdates(of: "entry", where: "NEW.number = 1")
    try harness.answer(200)
    #expect(try harness.enqueue("b").disposition == .created)
    let begin = harness.clock.now().steady
    var ticks = 0
    while harness.clock.now().steady < begin + 600_000, let due = harness.engine.deadline().steady {
      harness.advance(max(1, due - harness.clock.now().steady))
      ticks += 1
    }
    #expect(ticks < 30)
    #expect(harness.transport.started.count == 2)
    try harness.endFailing()
    harness.advance(60_000)
    #expect(try harness.call { Command.diagnostics($0) }.count == 1)
  }

  @Test("D36: what a rest has left out follows as soon as something was written in it")
  func restEnds() throws {
    let harness = try Harness()
    try harness.configure(#"{"concurrency":{"total":1,"reservedHigh":0,"partsPerEntry":1}}"#)
    try harness.enqueue("a")
    try harness.enqueue("b")
    harness.advance(10)
    try harness.setReadOnly(true)
    harness.send(pauseOther())
    try harness.setReadOnly(false)
    harness.advance(100)
    try harness.answer(200)
    #expect(harness.transport.started.count == 2)
  }

  @Test("D36: a database that another program has locked is asked once a turn, however many calls there are")
  func locked() throws {
    let harness = try Harness()
    let other = try Connection(path: Array("\(harness.directory)/queue.db".utf8), .readWrite)
    try other.execute("BEGIN IMMEDIATE")
    // In the place of the patience of five seconds: counts, and has none.
    var asked = 0
    let replies = (0..<20).map { _ in Replies<Void>() }
    withUnsafeMutablePointer(to: &asked) { asked in
      let count: @convention(c) (UnsafeMutableRawPointer?, Int32) -> Int32 = { asked, _ in
        asked?.assumingMemoryBound(to: Int.self).pointee += 1
        return 0
      }
      sqlite3_busy_handler(harness.store.tables.connection.handle, count, asked)
      harness.engine.process(replies.map { .pause(nil, $0.completion) })
      sqlite3_busy_handler(harness.store.tables.connection.handle, nil, nil)
    }
    try other.execute("ROLLBACK")
    #expect(asked == 1)
    for reply in replies { #expect(throws: Refusal.self) { try reply.get() } }
  }

  // MARK: Order

  @Test("D36: what waited for a body that is lost with its turn comes before what came since")
  func lostStaging() throws {
    let harness = try Harness()
    try harness.subscribe()
    harness.holdStaging()
    let first = try beginStaged(harness)
    let cancel = Replies<Void>()
    harness.send(.cancel(EntryID("a"), cancel.completion))
    try harness.breakStoreAndLose()
    harness.releaseStaging()
    let again = try harness.beginEnqueue("a")
    try harness.mendStore()
    #expect(throws: Refusal.self) { try first.get() }
    try cancel.get()
    #expect(try again.get().disposition == .created)
    #expect(try harness.state("a") == .running)
    #expect(harness.host.settled.isEmpty)
  }

  @Test("D36: a verdict that is kept comes before a call that is taken while the store rests")
  func keptVerdict() throws {
    let harness = try Harness()
    try harness.subscribe()
    try harness.enqueue("a")
    try harness.setReadOnly(true)
    try harness.answer(422)
    try harness.setReadOnly(false)
    try harness.pause()
    try harness.resume()
    harness.advance(60_000)
    #expect(harness.transport.started.count == 1)
    #expect(harness.host.settled.map(\.outcome.settlement.kind) == [.error])
  }

  @Test("D36: a verdict that is kept is written at the end of the process, if it can be")
  func keptAtTheEnd() throws {
    let harness = try Harness()
    try harness.enqueue("a")
    try harness.setReadOnly(true)
    try harness.answer(200)
    #expect(!harness.engine.isDrained())
    try harness.setReadOnly(false)
    harness.engine.process([.finish])
    try harness.relaunch()
    #expect(harness.transport.started.count == 1)
  }

  @Test("D36: the end of the process waits for no store, and nothing is accepted after it")
  func finish() throws {
    let harness = try Harness()
    try harness.setReadOnly(true)
    harness.send(.finish)
    try harness.setReadOnly(false)
    let late = try harness.beginEnqueue("late")
    #expect { try late.get() } throws: { "\($0)".contains("shutdown") }
  }

  @Test("D36: a queue with a turn in doubt is not drained")
  func drainedInDoubt() throws {
    let harness = try Harness()
    try harness.enqueue("a")
    harness.breakStore()
    try harness.answer(200)
    #expect(!harness.engine.isDrained())
  }

  // MARK: Lost starts

  @Test("D35, D36: a start that is lost with a failed sync is taken back: one request at once, no slot lost")
  func lostStart() throws {
    let harness = try Harness()
    try harness.configure(
      #"{"concurrency":{"total":2,"reservedHigh":0,"partsPerEntry":1,"perOrigin":2}}"#)
    try harness.enqueue("b", Sample.data(1, #""retry":{"backoff":{"baseMs":500,"maxMs":500,"jitter":0}}"#))
    try harness.answer(503)
    try harness.copyStore()
    // The start is in the log alone, and goes with the next sync.
    harness.advance(800)
    #expect(harness.transport.running.count == 1)
    harness.breakStore()
    let pause = Replies<Void>()
    harness.send(pauseOther(pause))
    try harness.mendStore()
    #expect(throws: Refusal.self) { try pause.get() }
    #expect(harness.transport.stopped.count == 1)
    #expect(harness.transport.running.count == 1)
    try harness.enqueue("c")
    try harness.enqueue("d")
    #expect(harness.transport.running.count == 2)
  }

  // MARK: Alone

  @Test("D36: a call that writes is not refused because a delivery cannot be counted")
  func uncountable() throws {
    let harness = try Harness()
    try harness.enqueue("a")
    try harness.answer(200)
    try harness.failUpdates(of: "outcome")
    try harness.subscribe([.settled])
    #expect(try harness.enqueue("c").disposition == .created)
  }

  @Test("D36: an enqueue whose body is there is not refused because what waited for it fails")
  func waiter() throws {
    let (harness, staged, cancel) = try harnessWithWaiter()
    harness.releaseStaging()
    #expect(throws: Refusal.self) { try cancel.get() }
    #expect(try staged.get().disposition == .created)
  }

  @Test("D36: what waited for a body whose turn was in doubt goes on when that stands")
  func waiterInDoubt() throws {
    let (harness, staged, cancel) = try harnessWithWaiter()
    harness.breakStore()
    harness.releaseStaging()
    #expect(staged.count == 0 && cancel.count == 0)
    try harness.mendStore()
    #expect(try staged.get().disposition == .created)
    #expect(cancel.count == 1)
  }

  @Test("D36: at the end every call that waited for a file is answered, though another cannot be carried out")
  func giveUp() throws {
    let harness = try Harness()
    try harness.pause()
    try harness.enqueue("a")
    harness.holdStaging()
    let staged = [try beginStaged(harness, "a"), try beginStaged(harness, "b")]
    let cancel = Replies<Void>()
    harness.send(.cancel(EntryID("a"), cancel.completion))
    try harness.failUpdates(of: "entry")
    harness.send(.finish)
    harness.send(.giveUp)
    #expect(staged.map(\.count) == [1, 1] && cancel.count == 1)
  }
}
