import JSONText
import QueueModel
import Testing

@Suite struct GroupTests {
  struct Case: Sendable, CustomTestStringConvertible {
    var rule: String
    var live: Int64 = 0
    var rows: Int64 = 1
    var ended: Int64 = 1
    var generation: Int64 = 1
    var settled: Group.Settled?
    var hasSettled = false
    var course: Group.Course
    var testDescription: String { rule }
  }

  private static let out = Group.Settled(eventID: "e")
  private static let done = Group.Settled(eventID: "e", isAcknowledged: true)

  private static let cases: [Case] = [
    Case(rule: "a live member", live: 1, course: .goesOn),
    Case(rule: "the last has settled", hasSettled: true, course: .settles),
    Case(rule: "all have left", rows: 0, ended: 0, course: .goes),
    Case(rule: "all have left one that settled before", rows: 0, ended: 0, generation: 2, course: .settles),
    Case(rule: "settled, its outcome is out", settled: out, course: .goesOn),
    Case(rule: "a member joins", live: 1, rows: 2, settled: out, course: .reopens),
    Case(rule: "a member reopens and settles at once", settled: out, hasSettled: true, course: .settlesAgain),
    Case(rule: "acknowledged, a failed member stays", settled: done, course: .goesOn),
    Case(rule: "acknowledged and empty", rows: 0, settled: done, course: .goes),
    Case(rule: "empty, its outcome is out", rows: 0, settled: out, course: .goesOn),
    Case(rule: "acknowledged, then one joins", live: 1, settled: done, course: .reopens),
  ]

  private func group(_ one: Case) -> Group {
    Group(
      name: EntryGroup("g"), generation: one.generation, settled: one.settled, rows: one.rows, live: one.live,
      counts: SettledCounts(error: one.ended), key: EntryKey("k"))
  }

  @Test("D48: what becomes of a group", arguments: cases)
  func course(_ one: Case) {
    #expect(group(one).course(hasSettled: one.hasSettled) == one.course)
  }

  @Test("D48: it settles with its counts, and reopens as the next generation")
  func generations() {
    let live = group(GroupTests.cases[1])
    let (settled, outcome) = live.settled(failed: [EntryID("a")], now: .start, randomness: CountingBits())
    #expect(settled.settled?.eventID == outcome.eventID && outcome.counts == SettledCounts(error: 1))
    #expect(outcome.generation == 1 && outcome.at == Moment.start.wall)
    let again = settled.reopened()
    #expect(again.generation == 2 && again.settled == nil)
  }

  @Test("D48, B146: an outcome comes back from its text, and a damaged one is refused by its member")
  func text() throws {
    let outcome = GroupOutcome(
      eventID: "e", group: EntryGroup("g\u{2028}\"x"), key: EntryKey("k"), at: 5, generation: 3,
      counts: SettledCounts(completed: 1, error: 2, cancelled: 3), failed: [EntryID("a"), EntryID("b")],
      host: HostID(7))
    guard case .group(let read) = try Record(stored: JSON(checking: outcome.storedText)) else {
      Issue.record("read as an entry's")
      return
    }
    #expect(read == outcome)
    let refusal = #expect(throws: InvalidInput.self) {
      try Record(stored: json(#"{"kind":"group","eventId":"e","group":"g","key":"k","at":1,"generation":1}"#))
    }
    #expect(refusal?.path == "stored.counts")
  }

  @Test("D48: progress is the sum of weights times shares over the sum of weights")
  func progress() throws {
    var progress = GroupProgress()
    #expect(progress.value == 0)
    var half = try Entry.sample()
    half.weight = 30
    half.body.length = 100
    half.bytesSent = 50
    var done = try Entry.sample()
    done.body.length = 10
    done.state = .settled(.completed, eventID: "e")
    var empty = try Entry.sample()
    empty.body = .none
    for entry in [half, done, empty] { progress.count(entry, by: 1) }
    #expect(progress.weight == 41 && progress.totalBytes == 110)
    #expect(progress.value == 0.609756)
    progress.count(half, by: -1)
    #expect(progress.value == 0.909091)
    progress.count(empty, by: -1)
    #expect(progress.value == 1)
  }
}
