import QueueEngine
import QueueModel
import Testing

@testable import QueueStore

/// 100,000 members.
@Suite struct HugeGroupTests {
  private static let members = 100_000

  private func harness(_ members: Int = HugeGroupTests.members) throws -> Harness {
    let harness = try Harness()
    try harness.pause()
    for start in stride(from: 0, to: members, by: 1000) {
      _ = try harness.enqueueAll((start..<start + 1000).map { try Sample.member("e\($0)") })
    }
    return harness
  }

  /// The most rows that one turn changes while the commands are carried out and all that follows from them.
  private func largestTurn(_ harness: Harness, _ commands: [Command], _ check: () throws -> Void) throws
    -> Int64
  {
    let changes = Statement(harness.store.tables.connection, "SELECT total_changes()")
    func changed(by work: () -> Void) throws -> Int64 {
      let before = try #require(try changes.first { $0.int() })
      work()
      return try #require(try changes.first { $0.int() }) - before
    }
    var most = try changed { harness.engine.process(commands) }
    while harness.engine.hasMore {
      try check()
      most = max(most, try changed { harness.engine.process([]) })
    }
    return most
  }

  /// Of a turn: slices of some hundred members, and a few rows for each.
  private static let mostChanges: Int64 = 5000

  @Test("D48, D1: pausing, resuming and cancelling a huge group takes slices, and what is told stays true")
  func slices() throws {
    let harness = try harness()
    let (done, count) = (Box(false), Int64(HugeGroupTests.members))
    _ = try harness.enqueueAll([Sample.enqueue("other")])
    var turns = 0
    let scope = PauseScope(groups: [EntryGroup("g")])
    var most = try largestTurn(harness, [.pause(scope) { _ in done.value = true }, .resume(nil) { _ in }]) {
      turns += 1
      guard turns % 40 == 1 else { return }
      #expect(done.value)
      let stats = Replies<Stats>()
      harness.engine.process([.stats(stats.completion)])
      let paused = try stats.get().entries[.paused]
      #expect(paused == count)
      #expect(harness.transport.running.allSatisfy { $0.attempt.entry == count + 1 })
    }
    #expect(turns > 10 && most < HugeGroupTests.mostChanges, "\(turns) turns, \(most) rows")
    #expect(harness.transport.running.map(\.attempt.entry) == [count + 1])
    try harness.resume(group: "g")
    #expect(try harness.stats().entries[.paused] == 0)
    #expect(harness.transport.running.count >= 3)
    done.value = false
    turns = 0
    most = try largestTurn(harness, [.cancelGroup(EntryGroup("g")) { _ in done.value = true }]) {
      turns += 1
      if turns < 10 { #expect(!done.value) }
    }
    #expect(done.value && turns > 100 && most < HugeGroupTests.mostChanges, "\(turns) turns, \(most) rows")
    #expect(try harness.stats().entries[.cancelled] == count)
    try harness.subscribe([.groupSettled])
    #expect(harness.host.groupsSettled.map(\.outcome.counts) == [SettledCounts(cancelled: count)])
  }

  @Test("D48: slices survive a process that dies between them")
  func killed() throws {
    let harness = try harness(3000)
    harness.engine.process([.pause(PauseScope(groups: [EntryGroup("g")])) { _ in }, .resume(nil) { _ in }])
    for _ in 0..<2 { harness.engine.process([]) }
    try harness.relaunch(connects: false)
    #expect(harness.transport.running.isEmpty)
    try harness.resume()
    #expect(harness.transport.running.isEmpty)
    #expect(try harness.stats().entries[.paused] == 3000)
  }
}
