import Foundation
import QueueEngine
import QueueModel
import QueueStore
import Testing

@Suite struct AttemptTests {
  @Test("D3, D35: the attempt and its X-Request-Id are in the store before the transport starts it")
  func committedFirst() throws {
    let harness = try Harness()
    let seen = Box<[Entry]>([])
    let directory = harness.directory
    harness.transport.onStart { transmission in
      let copy = directory + "-copy"
      do {
        try FileManager.default.copyItem(atPath: directory, toPath: copy)
        let store = try QueueStore(directory: copy, now: Moment(wall: 0, steady: 0), bootID: "copy")
        if let entry = try store.reader.entry(number: transmission.attempt.entry) { seen.value.append(entry) }
        try FileManager.default.removeItem(atPath: copy)
      } catch {
        Issue.record("\(error)")
      }
    }
    try harness.enqueue()
    let entry = try #require(seen.value.first)
    let transmission = try #require(harness.transport.started.first)
    #expect(entry.attempts == 1)
    #expect(entry.attemptsInFlight == [transmission.attempt])
    #expect(entry.lastRequestID == transmission.headers["X-Request-Id"])
  }

  @Test("D19: X-Request-Id is new for each attempt and overwrites the caller's")
  func requestIDs() throws {
    let harness = try Harness()
    try harness.enqueue("a", Sample.data(1, #""headers":{"X-Request-Id":"mine"}"#))
    try harness.answer(503)
    harness.pass(2000)
    let ids = harness.transport.started.map { $0.headers["X-Request-Id"] }
    #expect(ids.count == 2 && ids[0] != ids[1] && !ids.contains("mine"))
  }

  @Test("Section 3: order on a settle is progress, attempt, state, settled")
  func settleOrder() throws {
    let harness = try Harness()
    try harness.enqueue()
    harness.host.clear()
    try harness.subscribe()
    try harness.answer(201)
    #expect(
      harness.host.names == ["progress a 7", "attempt a 1", "state a completed", "settled a completed"])
  }

  enum End: Sendable {
    case completed, error(ErrorKind), parked, again
  }

  @Test(
    "D11, D12, D13: what a result means",
    arguments: [
      (AttemptResult.answer(200), End.completed), (.answer(204), .completed), (.answer(401), .parked),
      (.answer(403), .parked), (.answer(400), .error(.http)), (.answer(404), .again), (.answer(408), .again),
      (.answer(429), .again), (.answer(503), .again), (.answer(302), .error(.http)), (.answer(407), .again),
      (.answer(200, .cut), .again), (.answer(200, .unusable), .completed),
      (.failure(.beforeRequest), .again), (.failure(.afterRequestBegan), .again),
      (.failure(.bodyMissing), .error(.file)),
    ])
  func meaning(result: AttemptResult, end: End) throws {
    let harness = try Harness()
    try harness.subscribe()
    try harness.enqueue()
    try harness.finish(result)
    let row = try #require(try harness.row())
    switch end {
    case .completed:
      #expect(row.state == .completed)
      #expect(row.bytesSent == 7)
    case .error(let kind):
      #expect(row.state == .error)
      guard case .error(let found, _, _) = harness.host.settled.first?.outcome.settlement else {
        Issue.record("no error outcome")
        return
      }
      #expect(found == kind)
    case .parked: #expect(row.state == .awaitingAuth && row.nextAttemptAt == nil)
    case .again: #expect(row.state == .queued && row.nextAttemptAt != nil)
    }
    #expect(harness.host.attempts.count == 1)
    #expect(harness.host.settled.count == (row.state == .completed || row.state == .error ? 1 : 0))
  }

  @Test("B191: an accept rule makes a success of its answer")
  func accepted() throws {
    let harness = try Harness()
    try harness.enqueue("a", Sample.data(1, #""accept":[{"status":409,"bodyIncludes":"exists"}]"#))
    try harness.answer(409, body: "it exists")
    #expect(try harness.state() == .completed)
    try harness.enqueue("b", Sample.data(1, #""accept":[{"status":409,"bodyIncludes":"exists"}]"#))
    try harness.answer(409, body: "conflict")
    #expect(try harness.state("b") == .error)
  }

  @Test("D12: the fifth cut 2xx in a row completes, over a relaunch too")
  func cutAnswers() throws {
    let harness = try Harness()
    try harness.subscribe()
    try harness.enqueue()
    for _ in 0..<4 {
      try harness.finish(.answer(200, .cut))
      #expect(try harness.state() == .queued)
      try harness.relaunch(downtime: 3_600_000)
    }
    try harness.subscribe()
    try harness.finish(.answer(200, .cut))
    guard case .completed(let response) = harness.host.settled.first?.outcome.settlement else {
      Issue.record("not completed")
      return
    }
    #expect(response.bodyTruncated)
  }

  @Test("D18: a reused connection that died is followed at once, once")
  func followsAtOnce() throws {
    let harness = try Harness()
    try harness.enqueue()
    try harness.finish(.failure(.afterRequestBegan, reused: true))
    #expect(harness.transport.running.count == 1)
    try harness.finish(.failure(.afterRequestBegan, reused: true))
    #expect(harness.transport.running.isEmpty)
    #expect(try harness.row()?.nextAttemptAt != nil)
    #expect(harness.transport.started.count == 2)
  }

  @Test("B298: a transient rule's maxRetries holds over a relaunch")
  func ruleCounts() throws {
    let rule = #""retry":{"transient":[{"status":418,"maxRetries":2}]}"#
    let harness = try Harness()
    try harness.enqueue("a", Sample.data(1, rule))
    try harness.answer(418)
    try harness.relaunch(downtime: 3_600_000)
    try harness.answer(418)
    harness.pass(3_600_000)
    try harness.answer(418)
    #expect(try harness.state() == .error)
  }

  @Test("B241: accepted after a pause settles; a failure after a pause is ignored")
  func lateResults() throws {
    let harness = try Harness()
    try harness.subscribe()
    try harness.enqueue("a")
    try harness.enqueue("b")
    let attempts = harness.transport.running.map(\.attempt)
    try harness.pause()
    harness.transport.finish(attempts[0], .answer(200))
    harness.transport.finish(attempts[1], .answer(400))
    harness.settle()
    #expect(try harness.state("a") == .completed)
    #expect(try harness.state("b") == .paused)
    #expect(harness.host.settled.map(\.outcome.id) == [EntryID("a")])
    #expect(harness.host.attempts.map(\.id) == [EntryID("a")])
  }

  @Test("B216, B237: a result changes nothing once a newer attempt began, or after cancel or replace")
  func tooLate() throws {
    let harness = try Harness()
    try harness.subscribe()
    try harness.enqueue("a")
    let first = try harness.attempt()
    try harness.pause()
    try harness.resume()
    harness.transport.finish(first, .answer(200))
    harness.settle()
    #expect(try harness.state("a") == .running)
    let second = try harness.attempt()
    try harness.cancel("a")
    harness.transport.finish(second, .answer(200))
    harness.settle()
    #expect(harness.host.settled.map(\.outcome.settlement.kind) == [.cancelled])
    try harness.enqueue("b")
    let third = try harness.attempt()
    try harness.pause()
    try harness.enqueue("b", Sample.data(2))
    harness.transport.finish(third, .answer(200))
    harness.settle()
    #expect(try harness.state("b") == .paused)
  }

  @Test("A-RETRY-10: what a dead process left running is sent again, once, under a new X-Request-Id")
  func orphans() throws {
    let harness = try Harness()
    try harness.enqueue()
    try harness.relaunch()
    try harness.subscribe()
    #expect(harness.transport.started.count == 2)
    let ids = harness.transport.started.map { $0.headers["X-Request-Id"] }
    #expect(ids[0] != ids[1])
    #expect(try harness.row()?.attempts == 2)
    try harness.answer(200)
    #expect(harness.host.settled.count == 1)
    harness.pass(3_600_000)
    #expect(harness.transport.started.count == 2)
  }

  @Test("Section 3: progress comes at most once an interval, and the last value before a terminal state")
  func progress() throws {
    let harness = try Harness()
    try harness.enqueue()
    try harness.subscribe([.progress, .state])
    harness.host.clear()
    let attempt = try harness.attempt()
    for bytes in 1...5 { harness.transport.progress(attempt, Int64(bytes)) }
    harness.settle()
    #expect(harness.host.names == ["progress a 1"])
    #expect(try harness.row()?.bytesSent == 5)
    harness.pass(250)
    #expect(harness.host.names == ["progress a 1", "progress a 5"])
    try harness.cancel()
    #expect(harness.host.names.suffix(1) == ["state a cancelled"])
    #expect(harness.host.states.last?.bytesSent == 5)
  }
}
