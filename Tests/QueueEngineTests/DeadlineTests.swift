import QueueEngine
import QueueModel
import Testing

/// D49.
@Suite struct DeadlineTests {
  private func message(_ harness: Harness, _ id: String) -> String? {
    guard let outcome = harness.host.settled.last(where: { $0.outcome.id == EntryID(id) })?.outcome,
      case .error(.expired, let message, _) = outcome.settlement
    else { return nil }
    return message
  }

  @Test("D49: deadlineMs counts from the first attempt, over retries and a relaunch, and says so")
  func entry() throws {
    let harness = try Harness()
    try harness.pause()
    _ = try harness.enqueueAll([Sample.enqueue("a", more: #","deadlineMs":5000"#)])
    harness.pass(100_000)
    try harness.resume()
    try harness.answer(503)
    try harness.relaunch(downtime: 4000)
    try harness.subscribe()
    #expect(try harness.state() != .error)
    if !harness.transport.running.isEmpty { try harness.answer(503) }
    harness.pass(1000)
    #expect(try harness.state() == .error)
    #expect(message(harness, "a")?.hasPrefix("deadlineMs has passed") == true)
  }

  @Test("D49, D4: a running attempt is left to finish, and only a transient result turns into expired")
  func running() throws {
    let harness = try Harness()
    try harness.subscribe()
    _ = try harness.enqueueAll([
      Sample.enqueue("a", more: #","deadlineMs":5000"#), Sample.enqueue("b", more: #","deadlineMs":5000"#),
    ])
    harness.pass(10_000)
    #expect(harness.transport.running.count == 2)
    try harness.answer(200)
    #expect(try harness.state("a") == .completed)
    try harness.answer(503)
    #expect(message(harness, "b")?.hasPrefix("deadlineMs has passed") == true)
  }

  @Test("D49: the nearer of expiresAt and deadlineMs counts; a new generation has its whole time")
  func generations() throws {
    let harness = try Harness()
    try harness.subscribe()
    try harness.configure(#"{"retry":{"backoff":{"baseMs":3600000,"maxMs":7200000,"jitter":0}}}"#)
    let wall = harness.clock.now().wall
    let request = Sample.data(1, #""expiresAt":\#(wall + 500)"#)
    _ = try harness.enqueueAll([Sample.enqueue("a", request, more: #","deadlineMs":5000"#)])
    try harness.answer(503)
    harness.pass(1000)
    #expect(message(harness, "a")?.hasPrefix("expiresAt has passed") == true)
    _ = try harness.enqueueAll([Sample.enqueue("a", more: #","deadlineMs":5000"#)])
    #expect(try harness.state() == .running)
    // What runs does not expire, so only one that waits tells when its time is over.
    try harness.answer(503)
    harness.pass(4999)
    #expect(try harness.state() == .queued)
    harness.pass(1)
    #expect(message(harness, "a")?.hasPrefix("deadlineMs has passed") == true)
  }

  @Test("D49: groupDeadlineMs counts from the first attempt of any member, also for one that joins")
  func group() throws {
    let harness = try Harness()
    try harness.subscribe()
    let limit = #""groupDeadlineMs":5000"#
    _ = try harness.enqueueAll((0..<6).map { try Sample.member("e\($0)", of: "g", 1, limit) })
    #expect(harness.transport.running.count == 3 || harness.transport.running.count == 4)
    harness.pass(4000)
    _ = try harness.enqueueAll([Sample.member("late")])
    try harness.relaunch(downtime: 2000)
    try harness.subscribe()
    let states = Set(try harness.rows().map(\.state))
    #expect(states == [.error])
    #expect(message(harness, "late")?.hasPrefix("groupDeadlineMs has passed") == true)
    #expect(harness.host.groupsSettled.map(\.outcome.counts) == [SettledCounts(error: 7)])
  }

  @Test("D49, D4: while a group is paused its limit settles nothing; running members finish")
  func pausedGroup() throws {
    let harness = try Harness()
    _ = try harness.enqueueAll(
      (0..<5).map {
        try Sample.member("e\($0)", of: "g", 1, #""groupDeadlineMs":5000"#)
      })
    try harness.pause(group: "g")
    harness.pass(10_000)
    #expect(try harness.rows().allSatisfy { $0.state == .paused })
    try harness.resume(group: "g")
    #expect(try harness.rows().allSatisfy { $0.state == .error })
  }

  @Test("D49: a new generation of the group has its whole time")
  func groupAgain() throws {
    let harness = try Harness()
    let limit = #""groupDeadlineMs":5000"#
    _ = try harness.enqueueAll([Sample.member("a", of: "g", 1, limit)])
    try harness.answer(400)
    harness.pass(10_000)
    _ = try harness.enqueueAll([Sample.member("a", of: "g", 1, limit)])
    #expect(try harness.state() == .running)
    try harness.answer(503)
    #expect(try harness.state() == .queued)
  }
}
