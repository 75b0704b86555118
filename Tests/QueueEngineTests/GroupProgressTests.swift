import QueueEngine
import QueueModel
import Testing

@testable import QueueStore

@Suite struct GroupProgressTests {
  private func status(_ harness: Harness) throws -> GroupStatus {
    try #require(try harness.explain(group: "g")).status
  }

  @Test("D48: counts by state, with pauses of the key and the queue seen through")
  func counts() throws {
    let harness = try Harness()
    _ = try harness.enqueueAll((0..<6).map { try Sample.member("e\($0)") })
    try harness.answer(200)
    try harness.answer(401)
    #expect(
      try status(harness).counts.filter { $0.value > 0 } == [
        .completed: 1, .awaitingAuth: 1, .running: 3, .queued: 1,
      ])
    try harness.patch(#"{"Authorization":"new"}"#)
    #expect(try status(harness).counts[.awaitingAuth] ?? 0 == 0)
    try harness.pause("k")
    #expect(try status(harness).counts.filter { $0.value > 0 } == [.completed: 1, .paused: 5])
    try harness.relaunch()
    #expect(try status(harness).counts.filter { $0.value > 0 } == [.completed: 1, .paused: 5])
  }

  @Test("D48: progress goes by weights, and by bytes where none is given")
  func weights() throws {
    let harness = try Harness()
    _ = try harness.enqueueAll([
      Sample.member("a", of: "g", 1, #""weight":30"#), Sample.member("b", of: "g", 1, #""weight":10"#),
      Sample.member("c"),
    ])
    // {"n":1} has 7 bytes.
    let total = 30.0 + 10 + 7
    #expect(try status(harness).progress.value == 0)
    let attempt = try harness.attempt()
    harness.transport.progress(attempt, 7)
    harness.settle()
    #expect(abs(try status(harness).progress.value - 30 / total) < 1e-6)
    #expect(try status(harness).progress.bytesSent == 7 && status(harness).progress.totalBytes == 21)
    try harness.answer(200)
    try harness.answer(400)
    #expect(abs(try status(harness).progress.value - 30 / total) < 1e-6)
    try harness.answer(200)
    #expect(abs(try status(harness).progress.value - 37 / total) < 1e-6)
  }

  @Test("D48: group events come at most once an interval, the last value always, before the outcome")
  func events() throws {
    let harness = try Harness()
    try harness.subscribe([.group, .groupSettled])
    _ = try harness.enqueueAll([Sample.member("a"), Sample.member("b")])
    #expect(harness.host.names.suffix(1) == ["group g"])
    harness.host.clear()
    try harness.answer(200)
    #expect(harness.host.groups.isEmpty)
    harness.pass(250)
    #expect(harness.host.groups.map { $0.counts[.completed] } == [1])
    harness.host.clear()
    try harness.answer(200)
    #expect(harness.host.names == ["group g", "groupSettled g"])
    #expect(harness.host.groups.last?.progress.value == 1)
  }

  @Test("D48, D1: a pause of the queue is told of each group, and none is told to who did not ask")
  func pauseIsTold() throws {
    let harness = try Harness()
    _ = try harness.enqueueAll((0..<200).map { try Sample.member("e\($0)", of: "g\($0)") })
    try harness.subscribe([.state])
    #expect(harness.host.groups.isEmpty)
    try harness.subscribe([.group])
    try harness.pause()
    #expect(Set(harness.host.groups.map(\.group)).count == 200)
    #expect(harness.host.groups.allSatisfy { $0.counts[.paused] == 1 })
  }
}
