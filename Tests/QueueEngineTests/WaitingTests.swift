import QueueModel
import Testing

@testable import QueueEngine

@Suite struct WaitingTests {
  private static let exact = #"{"retry":{"backoff":{"baseMs":1000,"maxMs":60000,"jitter":0}}}"#

  private func wait(_ harness: Harness, _ id: String = "a") throws -> Int64? {
    try harness.row(id)?.nextAttemptAt.map { $0 - harness.clock.now().wall }
  }

  @Test("D15, A-RETRY-09: waits double up to the cap, each over a relaunch")
  func doubles() throws {
    let harness = try Harness()
    try harness.configure(WaitingTests.exact)
    try harness.enqueue()
    for expected: Int64 in [1000, 2000, 4000, 8000, 16_000, 32_000, 60_000, 60_000] {
      try harness.answer(503)
      #expect(try wait(harness) == expected)
      try harness.relaunch(downtime: 3_600_000)
    }
  }

  @Test("A-RETRY-09: a relaunch shortens no wait and lengthens none")
  func overRelaunch() throws {
    let harness = try Harness()
    try harness.configure(
      #"{"retry":{"backoff":{"baseMs":600000,"maxMs":7200000,"jitter":0.2}}}"#)
    try harness.enqueue()
    try harness.answer(503)
    let next = try harness.row()?.nextAttemptAt
    try harness.relaunch(downtime: 60_000)
    #expect(try harness.row()?.nextAttemptAt == next)
    harness.pass(5000)
    #expect(harness.transport.started.count == 1)
    harness.pass(720_000)
    #expect(harness.transport.started.count == 2)
  }

  @Test("D15: not a millisecond early, and at the deadline that the engine names")
  func onTime() throws {
    let harness = try Harness()
    try harness.configure(WaitingTests.exact)
    try harness.enqueue()
    try harness.answer(503)
    #expect(harness.engine.deadline().steady == harness.clock.now().steady + 1000)
    harness.advance(999)
    #expect(harness.transport.started.count == 1)
    harness.advance(1)
    #expect(harness.transport.started.count == 2)
  }

  @Test(
    "D14: Retry-After waits at least the backoff and at most its cap",
    arguments: [("30", 30_000), ("0", 1000), ("-5", 1000), ("soon", 1000), ("999999", 60_000)])
  func retryAfter(value: String, expected: Int64) throws {
    let harness = try Harness()
    try harness.configure(WaitingTests.exact)
    try harness.enqueue()
    try harness.answer(503, headers: [(name: "retry-after", value: value)])
    #expect(try wait(harness) == expected)
  }

  @Test(
    "D21, A-RETRY-05: a wall clock that is set back or forth moves no wait, over a relaunch neither",
    arguments: [-86_400_000, 86_400_000] as [Int64], [false, true])
  func wallJumps(by milliseconds: Int64, relaunches: Bool) throws {
    let harness = try Harness()
    try harness.configure(#"{"retry":{"backoff":{"baseMs":600000,"maxMs":600000,"jitter":0}}}"#)
    try harness.enqueue()
    try harness.answer(503)
    harness.clock.setWall(by: milliseconds)
    if relaunches { try harness.relaunch(downtime: 60_000) } else { harness.advance(60_000) }
    harness.advance(530_000)
    #expect(harness.transport.started.count == 1)
    harness.advance(10_000)
    #expect(harness.transport.started.count == 2)
  }

  @Test("D21: over a start of the system a clock that was set back lengthens no wait beyond maxMs")
  func wallSetBackOverReboot() throws {
    let harness = try Harness()
    try harness.configure(#"{"retry":{"backoff":{"baseMs":600000,"maxMs":600000,"jitter":0}}}"#)
    try harness.enqueue()
    try harness.answer(503)
    harness.clock.setWall(by: -86_400_000)
    try harness.reboot()
    harness.advance(540_000)
    #expect(harness.transport.started.count == 1)
    harness.advance(60_000)
    #expect(harness.transport.started.count == 2)
  }

  @Test("D21: a machine that slept wakes up to what became due, at its first tick")
  func suspended() throws {
    let harness = try Harness()
    try harness.subscribe()
    try harness.configure(WaitingTests.exact)
    try harness.enqueue()
    try harness.answer(503)
    try expiring(harness, in: 3_600_000, id: "expiring")
    try harness.answer(401)
    // Both clocks count the hours, and nothing ran meanwhile.
    harness.advance(8 * 3_600_000)
    #expect(harness.transport.started.count == 3)
    #expect(ended(harness) == .expired)
  }

  @Test("A-RETRY-04: distances of more than 2^31 ms are waited for in full")
  func farAway() throws {
    let harness = try Harness()
    try harness.subscribe()
    let day: Int64 = 86_400_000
    try harness.configure(
      #"{"retry":{"backoff":{"baseMs":3000000000,"maxMs":3000000000,"jitter":0}}}"#)
    try expiring(harness, in: 40 * day)
    try harness.answer(503)
    let now = harness.clock.now()
    #expect(
      harness.engine.deadline() == Deadline(steady: now.steady + 3_000_000_000, wall: now.wall + 40 * day))
    harness.advance(2_999_999_999)
    #expect(harness.transport.started.count == 1)
    harness.advance(1)
    #expect(harness.transport.started.count == 2)
    try harness.answer(503)
    harness.advance(40 * day - 3_000_000_001)
    #expect(try harness.state() == .queued)
    harness.advance(1)
    #expect(ended(harness) == .expired)
  }

  @Test("A-RETRY-06: a thousand entries after an outage: four at once, spread out, not all at the cap")
  func herd() throws {
    let harness = try Harness()
    try harness.configure(#"{"retry":{"backoff":{"baseMs":1000,"maxMs":8000,"jitter":0.2}}}"#)
    func fail() throws {
      while !harness.transport.running.isEmpty {
        try #require(harness.transport.running.count <= 4)
        for transmission in harness.transport.running {
          harness.transport.finish(transmission.attempt, .failure(.afterRequestBegan))
        }
        harness.settle()
      }
    }
    func waits() throws -> [Int64] {
      try harness.rows().compactMap { row in row.nextAttemptAt.map { $0 - row.updatedAt } }
    }
    // To a server each: one that fails for all of them is soon asked by one at a time (D52).
    for number in 0..<1000 {
      try harness.enqueue("e\(number)", #"{"url":"http://h\#(number).test/","data":1}"#)
    }
    try fail()
    let first = try waits().sorted()
    #expect(first.count == 1000 && first[999] - first[0] >= 300)
    for _ in 0..<60 {
      harness.advance(500)
      try fail()
    }
    let last = try waits()
    #expect(last.count == 1000 && last.allSatisfy { $0 <= 8000 } && last.contains(8000))
    #expect(Set(last).count > 300)
  }

  @Test("D1, D2: a pause keeps the backoff and hides nextAttemptAt")
  func pauseKeepsBackoff() throws {
    let harness = try Harness()
    try harness.configure(WaitingTests.exact)
    try harness.enqueue()
    try harness.answer(503)
    let next = try harness.row()?.nextAttemptAt
    try harness.pause()
    #expect(try harness.row()?.nextAttemptAt == nil)
    harness.advance(500)
    try harness.resume()
    #expect(try harness.row()?.nextAttemptAt == next)
    harness.advance(499)
    #expect(harness.transport.started.count == 1)
    harness.advance(1)
    #expect(harness.transport.started.count == 2)
  }

  // MARK: Expiry

  private func expiring(_ harness: Harness, in milliseconds: Int64, id: String = "a") throws {
    let at = harness.clock.now().wall + milliseconds
    try harness.enqueue(id, Sample.data(1, #""expiresAt":\#(at)"#))
  }

  private func ended(_ harness: Harness) -> ErrorKind? {
    guard case .error(let kind, _, _) = harness.host.settled.last?.outcome.settlement else { return nil }
    return kind
  }

  @Test(
    "B194, D4: past its deadline at enqueue it settles expired and is never sent",
    arguments: [0, -1] as [Int64])
  func alreadyPast(milliseconds: Int64) throws {
    let harness = try Harness()
    try harness.subscribe()
    try expiring(harness, in: milliseconds)
    #expect(harness.transport.started.isEmpty)
    #expect(ended(harness) == .expired)
    #expect(harness.host.names == ["reply a", "state a queued", "state a error", "settled a error"])
  }

  @Test("B196, D4: what waits settles at its deadline, not before; its row and body stay")
  func whileWaiting() throws {
    let harness = try Harness()
    try harness.configure(WaitingTests.exact)
    try harness.subscribe()
    try expiring(harness, in: 500)
    try harness.answer(503)
    #expect(try wait(harness) == 500)
    harness.pass(499)
    #expect(try harness.state() == .queued)
    harness.pass(1)
    #expect(try harness.state() == .error)
    #expect(ended(harness) == .expired)
    #expect(harness.transport.started.count == 1)
    try harness.acknowledge(harness.host.eventIDs)
    #expect(try harness.row()?.totalBytes == 7)
  }

  @Test(
    "B197, D4: a running attempt goes on; only a transient result becomes expired",
    arguments: [(503, ErrorKind.expired), (400, ErrorKind.http), (200, nil)])
  func whileRunning(status: Int, kind: ErrorKind?) throws {
    let harness = try Harness()
    try harness.subscribe()
    try expiring(harness, in: 500)
    harness.pass(10_000)
    #expect(try harness.state() == .running)
    try harness.answer(status)
    #expect(ended(harness) == kind)
    #expect(harness.host.settled.count == 1)
  }

  @Test("B198: past its deadline while running, then 401: it parks and expires")
  func runningThenParked() throws {
    let harness = try Harness()
    try harness.subscribe()
    try expiring(harness, in: 500)
    harness.pass(1000)
    try harness.answer(401)
    #expect(harness.host.states.map(\.state).suffix(2) == [.awaitingAuth, .error])
    #expect(ended(harness) == .expired)
  }

  @Test("B199: a parked entry settles at its deadline, not before, over a relaunch too")
  func parked() throws {
    let harness = try Harness()
    try expiring(harness, in: 100_000)
    try harness.answer(401)
    try harness.relaunch(downtime: 60_000)
    try harness.subscribe()
    harness.pass(39_999)
    #expect(try harness.state() == .awaitingAuth)
    harness.pass(1)
    #expect(ended(harness) == .expired)
  }

  @Test("B246, D4: paused past its deadline it stays paused and settles at resume; a key's pause too")
  func paused() throws {
    let harness = try Harness()
    try harness.subscribe()
    for keys in [[], ["k"]] as [[String]] {
      let set = keys.isEmpty ? nil : PauseScope(keys: Set(keys.map { EntryKey($0) }))
      harness.host.clear()
      try harness.call { .pause(set, $0) }
      try expiring(harness, in: 500)
      harness.pass(10_000)
      #expect(try harness.state() == .paused)
      try harness.call { .resume(set, $0) }
      #expect(ended(harness) == .expired)
    }
    #expect(harness.transport.started.isEmpty)
  }

  @Test("D4: more deadlines at once than one turn settles")
  func manyDeadlines() throws {
    let harness = try Harness()
    try harness.pause()
    for number in 0..<300 { try expiring(harness, in: 500, id: "e\(number)") }
    try harness.resume()
    for index in (0..<3).reversed() { try harness.finish(.answer(503), index: index) }
    harness.pass(1000)
    #expect(try harness.rows().allSatisfy { $0.state == .error || $0.state == .running })
  }
}
