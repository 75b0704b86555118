import QueueEngine
import QueueModel
import Testing

/// Whose an outcome is (protocol.md section 3).
@Suite struct RecipientTests {
  private func ids(_ host: RecordingHost) -> [String] { host.settled.map(\.outcome.id.text) }

  @Test("Section 3: an outcome goes to the connection that enqueued it, before the newest subscription")
  func enqueuer() throws {
    let harness = try Harness()
    let second = harness.connect()
    try harness.subscribe([.settled])
    try harness.subscribe([.settled], as: second.id)
    try harness.enqueue("mine")
    try harness.answer(200)
    try harness.enqueue("theirs", from: second.id)
    try harness.answer(200)
    #expect(ids(harness.host) == ["mine"])
    #expect(ids(second.host) == ["theirs"])
  }

  @Test("Section 3: not while its subscription does not cover the key")
  func uncovered() throws {
    let harness = try Harness()
    let second = harness.connect()
    try harness.subscribe([.settled], keys: ["other"])
    try harness.subscribe([.settled], as: second.id)
    try harness.enqueue("a")
    try harness.answer(200)
    #expect(harness.host.settled.isEmpty)
    #expect(ids(second.host) == ["a"])
  }

  @Test("Section 3: when it has gone, all it had not acknowledged goes on, what its window held back too")
  func gone() throws {
    let harness = try Harness()
    let second = harness.connect()
    try harness.subscribe([.settled], window: 2)
    try harness.subscribe([.settled], as: second.id)
    for number in 0..<4 {
      try harness.enqueue("e\(number)")
      try harness.answer(200)
    }
    #expect(ids(harness.host) == ["e0", "e1"])
    #expect(second.host.settled.isEmpty)
    try harness.acknowledge([harness.host.eventIDs[0]])
    #expect(ids(harness.host) == ["e0", "e1", "e2"])
    harness.send(.disconnected(harness.hostID))
    #expect(ids(second.host) == ["e1", "e2", "e3"])
    #expect(second.host.settled.map(\.deliveries) == [2, 2, 1])
  }

  @Test("Section 3: what waits behind a window that was acknowledged whole is passed on as well")
  func goneWithNothingHeld() throws {
    let harness = try Harness()
    let second = harness.connect()
    try harness.subscribe([.settled], as: second.id)
    try harness.subscribe([.settled], window: 1)
    try harness.enqueue("a")
    try harness.answer(200)
    try harness.release([harness.host.eventIDs[0]])
    #expect(ids(second.host) == ["a"])
    try harness.enqueue("b")
    harness.send(.disconnected(harness.hostID))
    try harness.answer(200)
    #expect(ids(second.host) == ["a", "b"])
  }

  @Test("Section 3: a later connection has no claim on what an earlier start enqueued")
  func relaunched() throws {
    let harness = try Harness()
    try harness.enqueue("a")
    try harness.answer(200)
    try harness.relaunch()
    let second = harness.connect()
    try harness.subscribe([.settled])
    try harness.subscribe([.settled], as: second.id)
    #expect(ids(harness.host) == ["a"])
    #expect(second.host.settled.isEmpty)
  }

  @Test("Section 3: each of many that were released goes on, whatever lies behind them")
  func manyReleased() throws {
    let harness = try Harness()
    let second = harness.connect()
    try harness.subscribe([.settled], as: second.id)
    for number in 0..<1100 {
      try harness.enqueue("e\(number)")
      try harness.cancel("e\(number)")
    }
    #expect(second.host.settled.count == 64)
    try harness.subscribe([.settled], window: 1024)
    #expect(harness.host.settled.count == 1024)
    for eventID in harness.host.eventIDs.reversed() { try harness.release([eventID]) }
    // What its window had held back.
    #expect(harness.host.settled.count == 1036)
    for eventID in harness.host.eventIDs.suffix(12) { try harness.release([eventID]) }
    #expect(second.host.settled.count == 64)
    while second.host.settled.count < 1100 {
      let before = second.host.settled.count
      try harness.acknowledge(second.host.eventIDs)
      try #require(second.host.settled.count > before)
    }
    // Oldest first, though they were released in another order.
    #expect(ids(second.host) == (0..<1100).map { "e\($0)" })
    try harness.acknowledge(second.host.eventIDs)
    #expect(try harness.rows().isEmpty)
  }
}
