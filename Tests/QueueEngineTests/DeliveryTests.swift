import QueueEngine
import QueueModel
import Testing

@Suite struct DeliveryTests {
  /// Entries e0 ... with completed outcomes, before anybody subscribed.
  private func harness(completed count: Int) throws -> Harness {
    let harness = try Harness()
    for number in 0..<count {
      try harness.enqueue("e\(number)")
      try harness.answer(200)
    }
    return harness
  }

  private func ids(_ host: RecordingHost) -> [String] { host.settled.map(\.outcome.id.text) }

  @Test("Section 3: nothing before subscribe; then what is unacknowledged, oldest first, after the reply")
  func backlog() throws {
    let harness = try harness(completed: 3)
    #expect(harness.host.all.isEmpty)
    let host = harness.host
    host.clear()
    harness.send(
      .subscribe(Subscription(kinds: [.settled], keys: nil, window: 64), from: harness.hostID) { _ in
        host.note(reply: "subscribe")
      })
    #expect(
      host.names == [
        "reply subscribe", "settled e0 completed", "settled e1 completed", "settled e2 completed",
      ])
    try harness.enqueue("e3")
    try harness.answer(200)
    #expect(host.names.last == "settled e3 completed")
  }

  @Test("Section 3: at most a window is out; an acknowledgement makes room for the next")
  func window() throws {
    let harness = try harness(completed: 5)
    try harness.subscribe([.settled], window: 2)
    #expect(ids(harness.host) == ["e0", "e1"])
    try harness.acknowledge([harness.host.eventIDs[1]])
    #expect(ids(harness.host) == ["e0", "e1", "e2"])
    try harness.acknowledge([harness.host.eventIDs[0], harness.host.eventIDs[2], "unknown"])
    #expect(ids(harness.host) == ["e0", "e1", "e2", "e3", "e4"])
    try harness.acknowledge(harness.host.eventIDs)
    try harness.acknowledge(harness.host.eventIDs)
    #expect(try harness.rows().isEmpty)
    #expect(try harness.stats().unacknowledged == 0)
  }

  @Test("Section 3: at most 4 MiB of outcomes are out, but at least one")
  func windowBytes() throws {
    let harness = try Harness()
    let body = String(repeating: "x", count: 1 << 20)
    for number in 0..<6 {
      try harness.enqueue("e\(number)")
      try harness.answer(200, body: body)
    }
    try harness.subscribe([.settled])
    #expect((3...4).contains(harness.host.settled.count))
    let out = harness.host.settled.count
    try harness.acknowledge([harness.host.eventIDs[0]])
    #expect(harness.host.settled.count == out + 1)
  }

  @Test("Section 3: a release makes room and comes back with the next subscribe alone, what is held does not")
  func release() throws {
    let harness = try harness(completed: 3)
    try harness.subscribe([.settled], window: 2)
    try harness.release([harness.host.eventIDs[0]])
    #expect(ids(harness.host) == ["e0", "e1", "e2"])
    try harness.enqueue("e3")
    try harness.answer(200)
    try harness.acknowledge([harness.host.eventIDs[2]])
    #expect(ids(harness.host) == ["e0", "e1", "e2", "e3"])
    try harness.acknowledge([harness.host.eventIDs[3]])
    #expect(harness.host.settled.count == 4)
    harness.host.clear()
    try harness.subscribe([.settled], window: 2)
    #expect(ids(harness.host) == ["e0"])
    #expect(harness.host.settled[0].deliveries == 2)
  }

  @Test("Section 3: unsubscribe ends delivery, what was held comes with the next subscribe")
  func unsubscribe() throws {
    let harness = try harness(completed: 1)
    try harness.subscribe([.settled])
    try harness.call { .unsubscribe(from: harness.hostID, $0) }
    try harness.enqueue("e1")
    try harness.answer(200)
    #expect(harness.host.settled.count == 1)
    harness.host.clear()
    try harness.subscribe([.settled])
    #expect(harness.host.settled.map(\.deliveries) == [2, 1])
  }

  @Test("A-STORE-08: deliveries count over starts, under one event id")
  func overRelaunch() throws {
    let harness = try harness(completed: 1)
    var seen: [String] = []
    for start: Int64 in 1...4 {
      try harness.subscribe([.settled])
      #expect(harness.host.settled.map(\.deliveries) == [start])
      seen += harness.host.eventIDs
      try harness.relaunch()
    }
    #expect(Set(seen).count == 1)
    try harness.acknowledge([seen[0]])
    try harness.relaunch()
    try harness.subscribe([.settled])
    #expect(harness.host.settled.isEmpty)
    #expect(try harness.rows().isEmpty)
  }

  @Test("B188: an acknowledgement forgets a completed entry with its body file, and keeps one with an error")
  func forgets() throws {
    let harness = try Harness()
    let big = String(repeating: "x", count: 100_000)
    try harness.subscribe()
    try harness.enqueue("done", Sample.file(try harness.source("one", big)))
    try harness.answer(200)
    try harness.enqueue("failed", Sample.file(try harness.source("two", big)))
    try harness.answer(400)
    #expect(try harness.bodyFiles().count == 2)
    try harness.acknowledge(harness.host.eventIDs)
    #expect(try harness.rows().map(\.id.text) == ["failed"])
    #expect(try harness.bodyFiles().count == 1)
    #expect(
      try harness.enqueue("failed", Sample.file(try harness.source("two", big))).disposition == .replaced)
  }

  @Test("B188, B220: the acknowledgement of an older generation forgets nothing")
  func olderGeneration() throws {
    let harness = try Harness()
    try harness.subscribe()
    try harness.enqueue()
    try harness.answer(400)
    try harness.enqueue()
    try harness.answer(200)
    try harness.acknowledge([harness.host.eventIDs[0]])
    #expect(try harness.state() == .completed)
    try harness.acknowledge([harness.host.eventIDs[1]])
    #expect(try harness.row() == nil)
  }

  @Test("Section 3: keys limit what a subscription gets, of every kind")
  func keys() throws {
    let harness = try Harness()
    try harness.subscribe(keys: ["k"])
    try harness.enqueue("a", key: "k")
    try harness.enqueue("b", key: "l")
    for _ in 0..<2 { try harness.answer(200) }
    #expect(harness.host.names.allSatisfy { !$0.contains(" b ") || $0.hasPrefix("reply") })
    #expect(ids(harness.host) == ["a"])
    harness.host.clear()
    try harness.subscribe(keys: ["l"])
    #expect(ids(harness.host) == ["b"])
  }

  @Test("Section 3: a subscription gets the kinds that it names", arguments: Subscription.Kind.allCases)
  func kinds(kind: Subscription.Kind) throws {
    let harness = try Harness()
    try harness.subscribe([kind])
    _ = try harness.enqueueAll([Sample.member("a")])
    try harness.answer(200)
    let names = harness.host.names.filter { !$0.hasPrefix("reply") }
    #expect(!names.isEmpty && names.allSatisfy { $0.hasPrefix("\(kind.rawValue) ") })
  }

  // MARK: Several hosts

  @Test("Section 3: an outcome goes to one connection, and to the next one when that ends")
  func nextConnection() throws {
    let harness = try Harness()
    try harness.subscribe([.settled])
    let other = harness.connect()
    try harness.subscribe([.settled], window: 1, as: other.id)
    try harness.enqueue("a", from: other.id)
    try harness.answer(200)
    try harness.enqueue("b", from: other.id)
    try harness.answer(200)
    #expect(ids(other.host) == ["a"])
    #expect(ids(harness.host).isEmpty)
    harness.send(.disconnected(other.id))
    #expect(ids(harness.host) == ["a", "b"])
    #expect(harness.host.settled.map(\.deliveries) == [2, 1])
  }

  @Test("Section 3: a released outcome goes to the next connection that has not released it, then waits")
  func releasedToNext() throws {
    let harness = try Harness()
    try harness.subscribe([.settled])
    let other = harness.connect()
    try harness.subscribe([.settled], as: other.id)
    try harness.enqueue("a", from: other.id)
    try harness.answer(200)
    #expect(ids(other.host) == ["a"])
    try harness.call { .release(other.host.eventIDs, from: other.id, $0) }
    #expect(ids(harness.host) == ["a"])
    try harness.release(harness.host.eventIDs)
    #expect(other.host.settled.count == 1 && harness.host.settled.count == 1)
    harness.send(.disconnected(other.id))
    #expect(harness.host.settled.count == 1)
    try harness.subscribe([.settled])
    #expect(harness.host.settled.count == 2)
  }

  @Test("Section 3: what a narrowed subscription no longer covers goes to the others")
  func narrowed() throws {
    let harness = try Harness()
    try harness.subscribe([.settled])
    let other = harness.connect()
    try harness.subscribe([.settled], window: 1, as: other.id)
    for id in ["a", "b"] {
      try harness.enqueue(id, from: other.id)
      try harness.answer(200)
    }
    try harness.subscribe([.settled], window: 1, keys: ["x"], as: other.id)
    #expect(ids(harness.host) == ["b"])
    #expect(ids(other.host) == ["a"])
  }
}
