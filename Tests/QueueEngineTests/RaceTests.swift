import QueueEngine
import QueueModel
import Testing

/// Things that come in one turn, in every order.
@Suite struct RaceTests {
  @Test("B206: a start that a pause or a replacement overtook does not happen")
  func overtakenStart() throws {
    let harness = try Harness()
    let first = Replies<EnqueueAnswer>()
    let second = Replies<EnqueueAnswer>()
    let paused = Replies<Void>()
    harness.send(
      .enqueue(try Sample.enqueue("a", Sample.data(1)), from: harness.hostID, first.completion),
      .enqueue(try Sample.enqueue("a", Sample.data(2)), from: harness.hostID, second.completion),
      .enqueue(try Sample.enqueue("b", key: "p"), from: harness.hostID) { _ in },
      .pause(PauseScope(keys: [EntryKey("p")]), paused.completion))
    #expect(try first.get().disposition == .created)
    #expect(try second.get().disposition == .replaced)
    try paused.get()
    #expect(harness.transport.started.map(\.attempt.entry) == [1])
    #expect(harness.transport.started.map(\.attempt.generation) == [2])
    guard case .bytes(let sent)? = harness.transport.started.first?.body else {
      Issue.record("no bytes")
      return
    }
    #expect(String(decoding: sent, as: UTF8.self) == #"{"n":2}"#)
    #expect(try harness.state("b") == .paused)
  }

  @Test("B280: an entry that settles while somebody subscribes is delivered once", arguments: [false, true])
  func settlesWhileSubscribing(resultFirst: Bool) throws {
    for window in [1, 64] {
      let harness = try Harness()
      try harness.enqueue()
      let report = Command.report(try harness.attempt(), .finished(.answer(200)))
      let replies = Replies<Void>()
      let subscribe = Command.subscribe(
        Subscription(kinds: [.settled], keys: nil, window: window), from: harness.hostID, replies.completion)
      harness.send(resultFirst ? [report, subscribe] : [subscribe, report])
      try replies.get()
      #expect(harness.host.settled.map(\.deliveries) == [1])
      harness.advance(60_000)
      #expect(harness.host.settled.count == 1)
    }
  }

  @Test("B236: a cancel with nobody there waits uncounted; who listens to states hears of it")
  func cancelledUnheard() throws {
    let harness = try Harness()
    try harness.pause()
    try harness.enqueue()
    try harness.subscribe([.state])
    try harness.cancel()
    #expect(harness.host.names == ["reply a", "state a cancelled"])
    try harness.subscribe([.settled])
    #expect(harness.host.settled.map(\.deliveries) == [1])
  }

  @Test("B295: an acknowledgement forgets its entry, however many outcomes came after")
  func oldAcknowledgement() throws {
    let harness = try Harness()
    try harness.subscribe([.settled], window: 1024)
    for number in 0..<200 {
      try harness.enqueue("e\(number)")
      try harness.answer(200)
    }
    let first = try #require(harness.host.eventIDs.first)
    try harness.acknowledge([first])
    #expect(try harness.row("e0") == nil)
    #expect(try harness.rows().count == 199)
    try harness.relaunch()
    #expect(try harness.rows().count == 199)
  }
}
