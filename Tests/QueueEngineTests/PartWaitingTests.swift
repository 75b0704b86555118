import Foundation
import QueueEngine
import QueueModel
import Testing

@Suite struct PartWaitingTests {
  private static let backoff = #"{"retry":{"backoff":{"baseMs":1000,"maxMs":8000,"jitter":0}}}"#
  private let six = [1, 1, 1, 1, 1, 1]

  private func started() throws -> Harness {
    let harness = try Harness()
    try harness.configure(PartWaitingTests.backoff)
    try harness.subscribe()
    try harness.enqueueParts("a", six)
    return harness
  }

  @Test(
    "B262, A-FILE-10: a part in backoff keeps its slot, its siblings go on, and it goes when its time comes")
  func holdsSlot() throws {
    let harness = try started()
    try harness.finish(part: 1, .answer(500))
    #expect(harness.flying == [0, 2])
    try harness.finish(part: 0, .answer(200))
    #expect(harness.flying == [2, 3])
    harness.pass(999)
    #expect(harness.flying == [2, 3])
    harness.pass(1)
    #expect(harness.flying == [1, 2, 3])
    try harness.finish(part: 1, .answer(500))
    for part in [2, 3, 4, 5] { try harness.finish(part: part, .answer(200)) }
    #expect(try harness.state() == .queued)
    harness.pass(2000)
    try harness.finish(part: 1, .answer(200))
    #expect(try harness.state() == .completed)
    let counts = Dictionary(grouping: harness.transport.started.compactMap(\.attempt.part)) { $0 }
    #expect(counts.mapValues(\.count) == [0: 1, 1: 3, 2: 1, 3: 1, 4: 1, 5: 1])
  }

  @Test("B263: nextAttemptAt comes with the last part that waits, in one state event, and over a restart")
  func nextAttempt() throws {
    let harness = try started()
    let begin = harness.clock.now().wall
    for part in 0..<3 {
      #expect(try harness.row()?.nextAttemptAt == nil)
      try harness.finish(part: part, .answer(503))
      harness.pass(10)
    }
    #expect(try harness.row()?.nextAttemptAt == begin + 1000)
    #expect(harness.host.states.map(\.state) == [.queued, .running, .queued])
    harness.pass(970)
    #expect(harness.flying == [0])
    #expect(try harness.row()?.nextAttemptAt == nil)
    #expect(harness.host.states.map(\.state) == [.queued, .running, .queued, .running])
  }

  @Test("B263, D15: waits and their counts are the same after a restart")
  func restored() throws {
    let harness = try Harness()
    try harness.configure(#"{"retry":{"backoff":{"baseMs":100000,"maxMs":900000,"jitter":0}}}"#)
    try harness.enqueueParts("a", six)
    for part in 0..<3 { try harness.finish(part: part, .answer(503)) }
    let before = try harness.row()?.nextAttemptAt
    try harness.relaunch(downtime: 60_000)
    #expect(harness.flying.isEmpty)
    #expect(try harness.row()?.nextAttemptAt == before)
    harness.pass(40_000)
    #expect(harness.flying == [0, 1, 2])
    let failed = harness.clock.now().wall
    for part in 0..<3 { try harness.finish(part: part, .answer(503)) }
    #expect(try harness.row()?.nextAttemptAt == failed + 200_000)
  }

  @Test("B265, A-AUTH-04: 401 on a part parks all, keeps what was accepted, and new headers send the rest")
  func parks() throws {
    let harness = try started()
    try harness.finish(part: 0, .answer(200))
    try harness.finish(part: 1, .answer(200))
    try harness.finish(part: 2, .answer(401))
    #expect(try harness.state() == .awaitingAuth)
    #expect(harness.flying.isEmpty)
    #expect(harness.host.states.last?.bytesSent == 2)
    try harness.relaunch()
    #expect(harness.flying.isEmpty)
    try harness.patch(#"{"Authorization":"new"}"#)
    #expect(Set(harness.flying) == [2, 3, 4])
    #expect(harness.transport.running.allSatisfy { $0.headers["authorization"] == "new" })
    for part in [2, 3, 4, 5] { try harness.finish(part: part, .answer(200)) }
    #expect(try harness.state() == .completed)
    let counts = Dictionary(grouping: harness.transport.started.compactMap(\.attempt.part)) { $0 }
    #expect(counts[0]?.count == 1 && counts[1]?.count == 1)
  }

  @Test("B265: a 401 under headers that are older by now sends that part alone again, at once")
  func reissues() throws {
    let harness = try started()
    try harness.patch(#"{"Authorization":"new"}"#)
    try harness.finish(part: 1, .answer(401))
    #expect(harness.flying == [0, 1, 2])
    #expect(harness.transport.stopped.isEmpty)
    #expect(harness.transport.running[1].headers["authorization"] == "new")
    #expect(harness.host.states.map(\.state) == [.queued, .running])
  }

  @Test("B265: a part that was parked at another origin is let go by a patch for that origin")
  func otherOrigin() throws {
    let harness = try Harness()
    let path = try harness.source(sizes: [1, 1])
    let request = Sample.parts(path, [1, 1]).replacingOccurrences(of: "h.test/1", with: "other.test/1")
    try harness.enqueue("a", request)
    try harness.finish(part: 0, .answer(200))
    try harness.finish(part: 1, .answer(401))
    try harness.patch(#"{"A":"b"}"#, origin: "http://h.test:80")
    #expect(harness.flying.isEmpty)
    try harness.patch(#"{"A":"c"}"#, origin: "http://other.test:80")
    #expect(harness.transport.running.map { $0.headers["a"] } == ["c"])
  }

  @Test("B266: a pause stops the parts without an event, and a resume sends what is not accepted")
  func pause() throws {
    let harness = try started()
    try harness.finish(part: 1, .answer(200))
    harness.host.clear()
    try harness.pause()
    #expect(harness.flying.isEmpty)
    #expect(harness.host.attempts.isEmpty && harness.host.settled.isEmpty)
    #expect(harness.host.states.map(\.state) == [.paused])
    #expect(harness.host.states.first?.bytesSent == 1)
    try harness.relaunch()
    #expect(try harness.state() == .paused)
    try harness.resume()
    #expect(Set(harness.flying) == [0, 2, 3])
  }

  @Test("D6: moved to a paused key, its parts stop")
  func pausedKey() throws {
    let harness = try Harness()
    try harness.pause("p")
    let path = try harness.source(sizes: six)
    try harness.enqueue("a", Sample.parts(path, six))
    #expect(try harness.enqueue("a", key: "p", Sample.parts(path, six)).row.state == .paused)
    #expect(harness.flying.isEmpty)
    #expect(harness.transport.stopped.count == 3)
  }

  @Test("B267: cancelled, the parts stop and a late acceptance says nothing; its bytes are gone")
  func cancelled() throws {
    let harness = try started()
    let attempts = harness.transport.running.map(\.attempt)
    try harness.cancel()
    #expect(Set(harness.transport.stopped) == Set(attempts))
    harness.host.clear()
    harness.transport.finish(attempts[0], .answer(200))
    harness.settle()
    #expect(harness.host.all.isEmpty)
    #expect(try harness.state() == .cancelled)
  }

  @Test("B268: a late answer to a plan that was replaced is dropped", arguments: [[2, 2, 2], [6], nil])
  func replacedPlan(_ sizes: [Int]?) throws {
    let harness = try started()
    let attempts = harness.transport.running.map(\.attempt)
    try harness.finish(part: 1, .answer(410))
    try harness.enqueue(
      "a", sizes.map { Sample.parts(harness.sources + "/source", $0) } ?? Sample.data())
    for part in [0, 2] {
      harness.transport.finish(attempts[part], .answer(200))
      harness.settle()
    }
    #expect(try harness.row()?.bytesSent == 0)
    #expect(try harness.state() == .running)
    #expect(harness.flying == (sizes.map { Array($0.indices) } ?? []))
  }

  @Test("B271, section 1: an acceptance that comes after the error is kept for the reopen")
  func lateAfterError() throws {
    let harness = try started()
    let late = harness.transport.running[0].attempt
    try harness.finish(part: 1, .answer(410))
    harness.host.clear()
    harness.transport.finish(late, .answer(200))
    harness.settle()
    #expect(harness.host.all.isEmpty)
    try harness.relaunch()
    #expect(try harness.row()?.bytesSent == 1)
    try harness.enqueue("a", Sample.parts(harness.sources + "/source", six))
    #expect(Set(harness.flying) == [1, 2, 3])
  }

  @Test("B271: all parts accepted and not settled settles completed when it is enqueued again")
  func allAccepted() throws {
    let harness = try Harness()
    try harness.subscribe()
    try harness.enqueueParts("a", [1], #""expiresAt":\#(harness.clock.now().wall + 500)"#)
    let late = harness.transport.running[0].attempt
    try harness.pause()
    harness.pass(600)
    try harness.resume()
    #expect(try harness.state() == .error)
    harness.transport.finish(late, .answer(200))
    harness.settle()
    #expect(try harness.state() == .error)
    let answer = try harness.enqueue("a", Sample.parts(harness.sources + "/source", [1]))
    #expect(answer.disposition == .reopened && answer.row.state == .completed)
    #expect(harness.host.settled.map(\.outcome.generation) == [1, 2])
    #expect(harness.host.settled.last?.outcome.partIndex == 0)
    #expect(harness.transport.started.count == 1)
  }

  @Test("B269, D30: a staged file that is missing or too short ends as file, and names the part")
  func shortBody() throws {
    let harness = try started()
    try harness.finish(part: 2, .failure(.bodyMissing))
    let outcome = try #require(harness.host.settled.first?.outcome)
    guard case .error(.file, let message, nil) = outcome.settlement else { return #expect(Bool(false)) }
    #expect(message.hasSuffix(" on part 2") && outcome.partIndex == 2)
  }

  @Test("D16: a part that waits beside others in flight is woken by the end of the outage too")
  func outageBesideOthers() throws {
    let harness = try Harness()
    try harness.configure(
      """
      {"retry":{"backoff":{"baseMs":600000,"maxMs":7200000,"jitter":0}},
      "concurrency":{"total":6,"reservedHigh":0,"partsPerEntry":2,"perOrigin":6}}
      """)
    try harness.enqueue("b", Sample.data(1))
    try harness.enqueueParts("a", six)
    #expect(harness.flying == [0, 1])
    try harness.finish(part: 0, .failure(.beforeRequest))
    harness.pass(Gates.outageSpreadMs)
    #expect(harness.flying == [1])
    let other = try #require(harness.transport.running.first { $0.attempt.part == nil })
    harness.transport.finish(other.attempt, .answer(200))
    harness.settle()
    harness.pass(Gates.outageSpreadMs)
    #expect(harness.flying == [0, 1])
  }

  @Test("D16: parts that could not be sent are woken by the end of the outage")
  func outage() throws {
    let harness = try Harness()
    try harness.configure(#"{"retry":{"backoff":{"baseMs":600000,"maxMs":7200000,"jitter":0}}}"#)
    try harness.enqueueParts("a", six)
    for part in 0..<3 { try harness.finish(part: part, .failure(.beforeRequest)) }
    #expect(harness.flying.isEmpty)
    try harness.enqueue("b")
    try harness.answer(200)
    harness.pass(Gates.outageSpreadMs)
    #expect(Set(harness.flying) == [0, 1, 2])
  }
}
