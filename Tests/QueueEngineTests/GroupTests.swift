import QueueEngine
import QueueModel
import Testing

@testable import QueueStore

@Suite struct GroupTests {
  @Test("D48: rows and outcomes carry the group, and rows are read by it")
  func carried() throws {
    let harness = try Harness()
    try harness.subscribe()
    _ = try harness.enqueueAll([Sample.member("a"), Sample.member("b", of: "h"), Sample.enqueue("c")])
    #expect(try harness.rows().map { $0.group?.text } == ["g", "h", nil])
    #expect(try harness.rows(RowQuery(group: EntryGroup("h"))).map(\.id.text) == ["b"])
    #expect(try harness.rows(RowQuery(group: EntryGroup("nobody"))).isEmpty)
    try harness.answer(200)
    #expect(harness.host.settled.first?.outcome.group == EntryGroup("g"))
  }

  @Test("D48: when the last member has settled the group has one outcome, behind that of the member")
  func settles() throws {
    let harness = try Harness()
    try harness.subscribe([.settled, .groupSettled])
    _ = try harness.enqueueAll([Sample.member("a"), Sample.member("b"), Sample.member("c")])
    harness.host.clear()
    try harness.answer(200)
    try harness.answer(400)
    #expect(harness.host.groupsSettled.isEmpty)
    try harness.cancel("c")
    #expect(harness.host.names.suffix(2) == ["settled c cancelled", "groupSettled g"])
    let (outcome, deliveries) = try #require(harness.host.groupsSettled.first)
    #expect(outcome.counts == SettledCounts(completed: 1, error: 1, cancelled: 1))
    #expect(outcome.failed.map(\.text) == ["b"] && outcome.generation == 1 && deliveries == 1)
  }

  @Test("D48: the outcome comes again over starts, under one event id, until it is acknowledged")
  func journaled() throws {
    let harness = try Harness()
    _ = try harness.enqueueAll([Sample.member("a")])
    try harness.answer(200)
    try harness.relaunch()
    try harness.subscribe([.groupSettled])
    let first = try #require(harness.host.groupsSettled.first?.outcome.eventID)
    try harness.release([first])
    try harness.relaunch()
    try harness.subscribe([.groupSettled])
    #expect(harness.host.groupsSettled.map(\.outcome.eventID) == [first])
    #expect(harness.host.groupsSettled.map(\.deliveries) == [2])
    #expect(harness.host.settled.isEmpty)
    try harness.acknowledge([first])
    try harness.relaunch()
    try harness.subscribe([.groupSettled])
    #expect(harness.host.groupsSettled.isEmpty)
  }

  @Test("D48: a member that joins or reopens makes the group live again; it settles once more")
  func generations() throws {
    let harness = try Harness()
    try harness.subscribe([.groupSettled])
    _ = try harness.enqueueAll([Sample.member("a")])
    try harness.answer(400)
    _ = try harness.enqueueAll([Sample.member("a"), Sample.member("b")])
    try harness.answer(200)
    try harness.relaunch()
    try harness.answer(200)
    try harness.subscribe([.groupSettled])
    let outcomes = harness.host.groupsSettled.map(\.outcome)
    #expect(outcomes.map(\.generation) == [1, 2])
    #expect(outcomes.map(\.counts) == [SettledCounts(error: 1), SettledCounts(completed: 2)])
    #expect(outcomes.map(\.failed) == [[EntryID("a")], []])
    #expect(Set(outcomes.map(\.eventID)).count == 2)
  }

  @Test(
    "D42: a completed member that is acknowledged keeps its row until the group's outcome is acknowledged")
  func retention() throws {
    let harness = try Harness()
    let large = String(repeating: "x", count: 100_000)
    let path = try harness.source("source", large)
    let entries = [
      try Sample.enqueue("a", Sample.file(path, #""staging":"move""#), more: #","group":"g""#),
      try Sample.member("b"), try Sample.member("c"),
    ]
    try harness.subscribe()
    _ = try harness.enqueueAll(entries)
    try harness.answer(200)
    try harness.answer(200)
    try harness.acknowledge(harness.host.eventIDs)
    #expect(try harness.bodyFiles().isEmpty)
    #expect(try harness.rows().map(\.state) == [.completed, .completed, .running])
    try harness.relaunch()
    try harness.subscribe()
    let again = try harness.enqueueAll(entries)
    #expect(again.map(\.disposition) == [.kept, .kept, .resumed])
    #expect(harness.transport.running.count == 1)
    try harness.answer(200)
    #expect(harness.host.settled.map(\.outcome.id.text) == ["c"])
    try harness.acknowledge(harness.host.eventIDs)
    #expect(try harness.rows().map(\.id.text) == ["a", "b", "c"])
    #expect(try harness.enqueueAll(entries).map(\.disposition) == [.kept, .kept, .kept])
    try harness.acknowledge(harness.host.groupsSettled.map(\.outcome.eventID))
    #expect(try harness.rows().isEmpty)
    #expect(try harness.explain(group: "g") == nil)
  }

  @Test("D48: a group that the last member leaves is forgotten, or settles once more when it had settled")
  func left() throws {
    let harness = try Harness()
    try harness.subscribe([.groupSettled])
    try harness.pause()
    _ = try harness.enqueueAll([Sample.member("a")])
    _ = try harness.enqueueAll([Sample.enqueue("a")])
    #expect(try harness.explain(group: "g") == nil)
    _ = try harness.enqueueAll([Sample.member("a")])
    try harness.resume()
    try harness.answer(400)
    try harness.pause()
    _ = try harness.enqueueAll([Sample.member("a")])
    _ = try harness.enqueueAll([Sample.enqueue("a")])
    _ = try harness.enqueueAll([Sample.member("b")])
    try harness.cancel("b")
    #expect(harness.host.groupsSettled.map(\.outcome.generation) == [1, 2, 3])
    #expect(
      harness.host.groupsSettled.map(\.outcome.counts) == [
        SettledCounts(error: 1), SettledCounts(), SettledCounts(cancelled: 1),
      ])
  }

  @Test("D42: outcomes of groups that are acknowledged together let go of the members of all of them")
  func retentionOfMany() throws {
    let harness = try Harness()
    try harness.subscribe()
    let ids = ["a", "b", "c"]
    _ = try harness.enqueueAll(ids.map { try Sample.member($0, of: "of-\($0)") })
    for _ in ids { try harness.answer(200) }
    // The group that comes first has nothing to let go of.
    try harness.acknowledge(harness.host.settled.dropFirst().map(\.outcome.eventID))
    try harness.acknowledge(harness.host.groupsSettled.map(\.outcome.eventID))
    #expect(try harness.rows().map(\.id.text) == ["a"])
    try harness.acknowledge(harness.host.settled.map(\.outcome.eventID))
    #expect(try harness.rows().isEmpty)
  }

  @Test("D42, D5: another body under the id of a kept member runs; cancel forgets it")
  func keptReplaced() throws {
    let harness = try Harness()
    try harness.subscribe()
    _ = try harness.enqueueAll([Sample.member("a"), Sample.member("b"), Sample.member("c")])
    try harness.answer(200)
    try harness.answer(200)
    try harness.acknowledge(harness.host.eventIDs)
    let answers = try harness.enqueueAll([Sample.member("a", of: "g", 2)])
    #expect(answers.first?.disposition == .replaced && answers.first?.generation == 2)
    try harness.cancel("b")
    #expect(try harness.row("b") == nil)
    #expect(try harness.explain(group: "g")?.status.counts[.completed] == 0)
  }

  @Test(
    "D48, D1: a pause of a group stops what runs, holds the rest, outlasts a relaunch, and keeps backoffs")
  func pauses() throws {
    let harness = try Harness()
    try harness.subscribe([.state])
    _ = try harness.enqueueAll([Sample.member("a"), Sample.member("b"), Sample.enqueue("c")])
    try harness.answer(503)
    #expect(try harness.row("a")?.nextAttemptAt != nil)
    harness.host.clear()
    try harness.pause(group: "g")
    #expect(harness.host.names.sorted() == ["state a paused", "state b paused"])
    #expect(try harness.rows().map(\.state) == [.paused, .paused, .running])
    #expect(try harness.stats().entries[.paused] == 2)
    _ = try harness.enqueueAll([Sample.member("d")])
    try harness.relaunch()
    #expect(try harness.rows().map(\.state) == [.paused, .paused, .running, .paused])
    #expect(
      try harness.explain(group: "g")?.entries.map { $0.explanation.gates.map(\.gate) } == [
        [.group], [.group], [.group],
      ])
    harness.pass(3_600_000)
    #expect(harness.transport.running.count == 1)
    try harness.resume(group: "g")
    #expect(harness.transport.running.count == 3)
  }

  @Test("D48, D4: members of a paused group do not expire; the resume lets them")
  func pausedPastDeadline() throws {
    let harness = try Harness()
    try harness.pause(group: "g")
    _ = try harness.enqueueAll([
      Sample.enqueue(
        "a", Sample.data(1, #""expiresAt":\#(harness.clock.now().wall + 500)"#), more: #","group":"g""#)
    ])
    harness.pass(10_000)
    #expect(try harness.state() == .paused)
    try harness.resume(group: "g")
    #expect(try harness.state() == .error)
  }

  @Test("D48: cancel of a group settles what is live; a second one forgets all of it")
  func cancels() throws {
    let harness = try Harness()
    try harness.subscribe([.settled, .groupSettled])
    _ = try harness.enqueueAll([Sample.member("a"), Sample.member("b"), Sample.enqueue("c")])
    try harness.answer(200)
    try harness.cancel(group: "g")
    #expect(try harness.rows().map(\.state) == [.completed, .cancelled, .running])
    #expect(harness.host.groupsSettled.map(\.outcome.counts) == [SettledCounts(completed: 1, cancelled: 1)])
    try harness.cancel(group: "g")
    #expect(try harness.rows().map(\.id.text) == ["c"])
    #expect(try harness.stats().unacknowledged == 0)
    try harness.cancel(group: "g")
    try harness.cancel(group: "nobody")
  }

  @Test("D48, B141: cancel of a group waits for a member whose body is staged")
  func cancelWhileStaging() throws {
    let harness = try Harness()
    harness.holdStaging()
    let staged = harness.beginEnqueueAll([
      try Sample.enqueue("a", Sample.file(try harness.source()), more: #","group":"g""#)
    ])
    let cancel = Replies<Void>()
    harness.send(.cancelGroup(EntryGroup("g"), cancel.completion))
    #expect(cancel.count == 0)
    harness.releaseStaging()
    _ = try staged.get()
    try cancel.get()
    #expect(try harness.state() == .cancelled)
  }

  @Test("D48: the outcome goes to the connection that enqueued the newest member, and by the last one's key")
  func recipient() throws {
    let harness = try Harness()
    let other = harness.connect()
    try harness.subscribe([.groupSettled])
    try harness.subscribe([.groupSettled], as: other.id)
    _ = try harness.enqueueAll([Sample.member("a")])
    try harness.answer(200)
    #expect(harness.host.groupsSettled.count == 1 && other.host.groupsSettled.isEmpty)
    try harness.subscribe([.groupSettled], keys: ["x"])
    try harness.subscribe([.groupSettled], keys: ["k"], as: other.id)
    _ = try harness.enqueueAll([Sample.member("b", of: "h")])
    try harness.answer(200)
    #expect(other.host.groupsSettled.map(\.outcome.group.text).contains("h"))
  }

  @Test("D48: moved to another group, or to none, a member counts there alone")
  func moves() throws {
    let harness = try Harness()
    try harness.pause()
    _ = try harness.enqueueAll([Sample.member("a"), Sample.member("b")])
    _ = try harness.enqueueAll([Sample.member("a", of: "h"), Sample.enqueue("b")])
    #expect(try harness.explain(group: "g") == nil)
    #expect(try harness.explain(group: "h")?.status.counts[.paused] == 1)
    #expect(try harness.row("b")?.group == nil)
  }

  @Test("D48, D36: what a full disk refuses changes no count")
  func fullDisk() throws {
    let harness = try Harness()
    try harness.subscribe([.groupSettled])
    _ = try harness.enqueueAll([Sample.member("a")])
    let database = try Connection(path: Array("\(harness.directory)/queue.db".utf8), .readWrite)
    try database.execute(
      "CREATE TRIGGER full BEFORE UPDATE ON member_group BEGIN SELECT RAISE(ABORT, 'full'); END")
    #expect(throws: Refusal.self) { try harness.cancel(group: "g") }
    try harness.answer(200)
    #expect(harness.host.groupsSettled.isEmpty)
    try database.execute("DROP TRIGGER full")
    harness.advance(60_000)
    #expect(harness.host.groupsSettled.map(\.outcome.counts) == [SettledCounts(completed: 1)])
  }
}
