import JSONText
import QueueEngine
import QueueModel
import QueueStore
import Testing

@Suite struct RetryTests {
  private static let hour = #"{"retry":{"backoff":{"baseMs":3600000,"maxMs":7200000,"jitter":0}}}"#

  private func started() throws -> Harness {
    let harness = try Harness()
    try harness.configure(RetryTests.hour)
    try harness.subscribe()
    return harness
  }

  @Test("D44: a retry ends a backoff, and the next failure waits as the first did, over a restart too")
  func backoff() throws {
    let harness = try started()
    try harness.enqueue()
    try harness.answer(503)
    #expect(try harness.row()?.nextAttemptAt != nil)
    harness.host.clear()
    let row = try harness.retry()
    #expect(row.state == .queued)
    #expect(row.nextAttemptAt == nil)
    #expect(harness.host.names == ["reply a", "state a queued", "state a running"])
    #expect(harness.transport.running.count == 1)
    try harness.answer(503)
    let before = harness.clock.now().wall
    #expect(try harness.row()?.nextAttemptAt == before + 3_600_000)
    try harness.relaunch()
    try harness.retry()
    #expect(harness.transport.running.count == 1)
    #expect(try harness.row()?.attempts == 3)
  }

  @Test("D44, D16: a retry does not wait for the end of an outage; it is the probe")
  func outage() throws {
    let harness = try started()
    for id in ["a", "b"] { try harness.enqueue(id) }
    for _ in 0..<2 { try harness.finish(.failure(.beforeRequest)) }
    #expect(harness.transport.running.isEmpty)
    for id in ["a", "b"] { try harness.retry(id) }
    #expect(harness.transport.running.count == 1)
  }

  @Test("D44: a parked entry goes out once and parks again; running and due ones are left alone")
  func parked() throws {
    let harness = try started()
    try harness.enqueue()
    try harness.answer(401)
    #expect(try harness.retry().state == .queued)
    #expect(try harness.retry().state == .running)
    #expect(harness.transport.stopped.isEmpty)
    try harness.answer(401)
    #expect(try harness.state() == .awaitingAuth)
    try harness.pause()
    try harness.enqueue("due")
    harness.host.clear()
    #expect(try harness.retry("due").state == .paused)
    #expect(harness.host.names == ["reply due"])
  }

  @Test("D44, B188, B218: after an error it settles once more; the outcome before stays until acknowledged")
  func reopened() throws {
    let harness = try started()
    try harness.enqueue(vars: "[7]")
    try harness.answer(400)
    let first = harness.host.eventIDs
    harness.host.clear()
    let row = try harness.retry()
    #expect(row.state == .queued)
    #expect(row.attempts == 0)
    #expect(row.vars.description == "[7]")
    #expect(try harness.stats().unacknowledged == 1)
    try harness.answer(200)
    let second = try #require(harness.host.settled.first?.outcome)
    #expect(second.generation == 2)
    #expect(second.settlement.kind == .completed)
    #expect(try harness.stats().unacknowledged == 2)
    try harness.acknowledge(first)
    #expect(try harness.state() == .completed)
    try harness.acknowledge([second.eventID])
    #expect(try harness.rows().isEmpty)
  }

  @Test("D44: an expired entry has a lifetime from now")
  func expired() throws {
    let harness = try started()
    try harness.pause()
    try harness.enqueue("a", Sample.data(1, #""expiresAt":\#(harness.clock.now().wall + 1000)"#))
    harness.pass(1000)
    try harness.resume()
    #expect(try harness.state() == .error)
    harness.pass(86_400_000)
    try harness.retry()
    #expect(try harness.state() == .running)
    try harness.answer(503)
    #expect(try harness.state() == .queued)
  }

  @Test(
    "D44: its outcome goes to the connection that enqueued it while that lives, else to who covers the key")
  func recipient() throws {
    let harness = try started()
    let other = harness.connect()
    try harness.subscribe([.settled], as: other.id)
    try harness.enqueue()
    try harness.answer(400)
    try harness.retry()
    try harness.answer(400)
    #expect(harness.host.settled.map(\.outcome.generation) == [1, 2])
    #expect(other.host.settled.isEmpty)
    try harness.acknowledge(harness.host.eventIDs)
    harness.send(.disconnected(harness.hostID))
    try harness.retry()
    try harness.answer(200)
    #expect(other.host.settled.map(\.outcome.generation) == [3])
  }

  @Test("D44: unknown, completed and cancelled ids are refused, naming id; nothing is written")
  func refused() throws {
    let harness = try started()
    try harness.enqueue("done")
    try harness.answer(200)
    try harness.enqueue("gone")
    try harness.cancel("gone")
    let turn = harness.store.turn
    for (id, message) in [
      ("nobody", "names no entry"), ("done", "is completed"), ("gone", "is cancelled"),
    ] {
      do {
        try harness.retry(id)
        Issue.record("\(id) was not refused")
      } catch Refusal.invalid(let input) {
        #expect(input.path == "id")
        #expect(input.message.contains(message))
      }
    }
    #expect(harness.store.turn == turn)
  }

  @Test("D44, protocol 1: a retry waits for an enqueue of its id whose body is being staged")
  func behindStaging() throws {
    let harness = try started()
    harness.holdStaging()
    let enqueued = try harness.beginEnqueue("a", Sample.file(try harness.source()))
    let retried = Replies<Row>()
    harness.send(.retry(EntryID("a"), retried.completion))
    #expect(retried.count == 0)
    harness.releaseStaging()
    #expect(try enqueued.get().disposition == .created)
    #expect(try retried.get().id.text == "a")
  }
}
