import QueueEngine
import QueueModel
import Testing

@testable import QueueStore

/// A store that fails under the engine.
@Suite struct TroubleTests {
  @Test("D36: nothing is answered or sent while nobody knows whether it stands; then it is, once")
  func unsettled() throws {
    let harness = try Harness()
    try harness.subscribe()
    harness.breakStore()
    let first = try harness.beginEnqueue("a")
    let second = try harness.beginEnqueue("b")
    harness.advance(1000)
    #expect(first.count == 0 && second.count == 0)
    #expect(harness.transport.started.isEmpty && harness.host.names.isEmpty)
    try harness.mendStore()
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
    try harness.setReadOnly(true)
    harness.send(.cancel(EntryID("a"), Replies<Void>().completion))
    harness.advance(40_000)
    let wanted = try #require(harness.engine.deadline().steady)
    #expect(wanted > harness.clock.now().steady && !harness.engine.hasMore)
    try harness.setReadOnly(false)
    harness.advance(60_000)
    #expect(harness.transport.started.count == 2)
  }

  @Test("D34, D36: a network that could not be taken in gives way to a newer one, not the other way round")
  func networks() throws {
    let harness = try Harness()
    harness.send(.networkDetected(Network(kind: .none), isNewRoute: false))
    try harness.enqueue("a", Sample.data(1, #""wifiOnly":true"#))
    // The start of "a" fails, and a turn that writes nothing does not.
    try harness.failUpdates(of: "entry")
    harness.send(.networkDetected(Network(kind: .wifi), isNewRoute: true))
    harness.send(.networkDetected(Network(kind: .cellular), isNewRoute: false))
    try harness.endFailing()
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
    harness.breakStore()
    let cancel = Replies<Void>()
    harness.send(.cancel(EntryID("nobody"), cancel.completion))
    try cancel.get()
    try harness.answer(200)
    #expect(harness.host.settled.isEmpty)
    try harness.mendStore()
    #expect(harness.host.settled.map(\.outcome.settlement.kind) == [.completed])
    #expect(harness.transport.started.count == 1)
  }

  @Test("B204: where the start of an attempt cannot be stored nothing is sent; it is tried again later")
  func refusedStart() throws {
    let harness = try Harness()
    try harness.enqueue("a", Sample.data(1, #""retry":{"backoff":{"baseMs":500,"maxMs":500,"jitter":0}}"#))
    try harness.answer(503)
    try harness.failUpdates(of: "entry")
    harness.pass(800)
    #expect(harness.transport.running.isEmpty)
    #expect(try harness.row()?.attempts == 1)
    #expect(try harness.state() == .queued)
    try harness.endFailing()
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
    try harness.failUpdates(of: "entry")
    for _ in 0..<2 {
      let refusal = #expect(throws: Refusal.self) { try harness.cancel() }
      guard case .storage? = refusal else {
        Issue.record("not E_STORAGE: \(String(describing: refusal))")
        return
      }
    }
    #expect(harness.host.names.isEmpty && harness.transport.stopped.isEmpty)
    #expect(try harness.state() == .running)
    try harness.endFailing()
    try harness.cancel()
    #expect(harness.transport.stopped.count == 1)
    #expect(harness.host.settled.map(\.outcome.settlement.kind) == [.cancelled])
    try harness.cancel()
    #expect(harness.host.settled.count == 1)
    #expect(try harness.row() == nil)
  }

  // MARK: What else a turn had to do

  /// An engine with the outcome of "a", which nobody has subscribed to, and "b", whose next attempt is due.
  private func harnessWithWork() throws -> Harness {
    let harness = try Harness()
    try harness.enqueue("a")
    try harness.answer(200)
    try harness.enqueue("b", Sample.data(1, #""retry":{"backoff":{"baseMs":500,"maxMs":500,"jitter":0}}"#))
    try harness.answer(503)
    harness.clock.advance(800)
    return harness
  }

  private func subscription(from id: HostID, _ reply: @escaping Completion<Void>) -> Command {
    .subscribe(Subscription(kinds: [.settled], keys: nil, window: 64), from: id, reply)
  }

  @Test("D36: a host that comes when the disk has just failed is heard, and gets its outcomes afterwards")
  func newcomer() throws {
    let harness = try harnessWithWork()
    try harness.setReadOnly(true)
    let newcomer = harness.connect()
    try harness.setReadOnly(false)
    try harness.call { subscription(from: newcomer.id, $0) }
    #expect(newcomer.host.settled.isEmpty)
    harness.advance(1000)
    #expect(newcomer.host.settled.map(\.outcome.id) == [EntryID("a")])
    #expect(harness.transport.started.count == 3)
  }

  @Test("D36: whoever subscribes while no delivery can be counted gets the outcomes when it can")
  func uncounted() throws {
    let harness = try harnessWithWork()
    try harness.failUpdates(of: "outcome")
    try harness.call { subscription(from: harness.hostID, $0) }
    #expect(harness.host.settled.isEmpty)
    try harness.endFailing()
    harness.advance(1000)
    #expect(harness.host.settled.map(\.deliveries) == [1])
  }

  @Test("D36: a call is not refused because other work of its turn fails, which rests")
  func otherWork() throws {
    let harness = try harnessWithWork()
    try harness.failUpdates(of: "entry")
    #expect(try harness.enqueue("c", key: "other").disposition == .created)
    #expect(try #require(harness.engine.deadline().steady) > harness.clock.now().steady)
    #expect(!harness.engine.hasMore)
    try harness.endFailing()
    harness.advance(1000)
    #expect(harness.transport.started.count == 4)
  }

  @Test("D36: however many calls are refused at once, the store rests for one second")
  func oneRest() throws {
    let harness = try Harness()
    try harness.setReadOnly(true)
    let replies = (0..<10).map { _ in Replies<Void>() }
    harness.send(replies.map { .pause(nil, $0.completion) })
    for reply in replies { #expect(throws: Refusal.self) { try reply.get() } }
    #expect(harness.engine.deadline().steady == harness.clock.now().steady + 1000)
  }

  // MARK: A turn in doubt

  @Test("D36: a host that came in a turn that was lost is heard all the same, before what it asked for since")
  func lostNewcomer() throws {
    let harness = try harnessWithWork()
    try harness.breakStoreAndLose()
    let id = HostID(2)
    let newcomer = RecordingHost()
    let pause = Replies<Void>()
    let subscribe = Replies<Void>()
    harness.send(.connected(id, newcomer), .pause(nil, pause.completion))
    harness.send(subscription(from: id, subscribe.completion))
    try harness.mendStore()
    #expect(throws: Refusal.self) { try pause.get() }
    try subscribe.get()
    #expect(newcomer.settled.map(\.outcome.id) == [EntryID("a")])
  }

  @Test("D34, D36: a network that was told of in a turn that was lost is older than one told of since")
  func lostNetwork() throws {
    let harness = try Harness()
    harness.send(.networkDetected(Network(kind: .none), isNewRoute: false))
    try harness.enqueue("a", Sample.data(1, #""wifiOnly":true"#))
    try harness.breakStoreAndLose()
    let pause = Replies<Void>()
    harness.send(.networkDetected(Network(kind: .wifi), isNewRoute: true), .pause(nil, pause.completion))
    harness.send(.networkDetected(Network(kind: .cellular), isNewRoute: false))
    try harness.mendStore()
    #expect(throws: Refusal.self) { try pause.get() }
    #expect(harness.transport.started.isEmpty)
    harness.send(.networkDetected(Network(kind: .wifi), isNewRoute: false))
    #expect(harness.transport.started.count == 1)
  }

  @Test("D36, D37: damage that is met while a turn is in doubt leaves no call without an answer, nor a body")
  func damagedInDoubt() throws {
    let harness = try Harness()
    let large = String(repeating: "x", count: 100_000)
    let files = try (1...2).map { Sample.file(try harness.source("\($0)", large)) }
    harness.holdStaging()
    let staged = harness.beginEnqueueAll([
      try Sample.enqueue("a", files[0]), try Sample.enqueue("b", files[1]),
    ])
    harness.stageOne()
    harness.breakStore()
    harness.releaseStaging()
    let pause = Replies<Void>()
    harness.send(.pause(nil, pause.completion))
    #expect(staged.count == 0 && pause.count == 0)
    harness.store.meet(.failed(code: 11, message: "malformed"))
    harness.settle()
    #expect(throws: Refusal.self) { try staged.get() }
    #expect(throws: Refusal.self) { try pause.get() }
    // The rows may stand, and need them.
    #expect(try harness.bodyFiles().count == 2)
  }
}
