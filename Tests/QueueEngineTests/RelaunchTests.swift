import QueueModel
import QueueStore
import Testing

@testable import QueueEngine

/// What a start finds, and what comes before anybody has asked for anything.
@Suite struct RelaunchTests {
  private let slow = #""retry":{"backoff":{"baseMs":60000,"maxMs":60000,"jitter":0}}"#

  @Test("B282: a start takes back what ran before it sends anything, and rows are there without a host")
  func recoversFirst() throws {
    let harness = try Harness()
    for id in ["a", "b", "c", "d", "e"] { try harness.enqueue(id) }
    #expect(harness.transport.running.count == 3)
    try harness.relaunch(connects: false)
    let rows = try harness.engine.rows(RowQuery()).rows
    #expect(rows.map(\.id.text) == ["a", "b", "c", "d", "e"])
    #expect(rows.filter { $0.state == .running }.count == 3)
    #expect(harness.transport.running.count == 3)
    for transmission in harness.transport.running {
      #expect(transmission.attempt.ordinal == (transmission.attempt.entry <= 3 ? 2 : 1))
    }
  }

  @Test("B283: work that goes on while its host is away settles without a second request")
  func hostReturns() throws {
    let harness = try Harness()
    try harness.enqueue()
    harness.send(.disconnected(harness.hostID))
    let (id, host) = harness.connect()
    try harness.subscribe(as: id)
    #expect(harness.transport.running.count == 1)
    try harness.answer(200)
    #expect(host.settled.map(\.deliveries) == [1])
    #expect(host.settled.map(\.outcome.settlement.kind) == [.completed])
    #expect(harness.transport.started.count == 1)
  }

  @Test("B287: a failure that comes before any host does leads to the next attempt after its backoff")
  func failsFirst() throws {
    let harness = try Harness()
    try harness.enqueue("a", Sample.data(1, slow))
    try harness.relaunch()
    try harness.answer(503)
    #expect(harness.transport.running.isEmpty)
    harness.pass(59_999)
    #expect(harness.transport.started.count == 2)
    harness.pass(1)
    #expect(harness.transport.started.count == 3)
    try harness.subscribe()
    try harness.answer(200)
    #expect(harness.host.settled.map(\.outcome.attempts) == [3])
  }

  @Test("B186, A-CONN-03: a transport failure is a network attempt without a status, and then a retry")
  func transportFails() throws {
    let harness = try Harness()
    try harness.subscribe()
    try harness.enqueue("a", Sample.data(1, slow))
    try harness.finish(.failure(.afterRequestBegan))
    let attempt = try #require(harness.host.attempts.first)
    #expect(attempt.result == .error(.network, message: "scripted"))
    #expect(attempt.answer == nil)
    #expect(try harness.row()?.nextAttemptAt != nil)
    harness.pass(60_000)
    try harness.answer(200)
    #expect(harness.host.settled.map(\.outcome.attempts) == [2])
  }

  @Test("B178: a new entry shows a state event, and its row and its body are on disk")
  func created() throws {
    let harness = try Harness()
    try harness.subscribe()
    try harness.pause()
    let path = try harness.source("big", String(repeating: "x", count: 100_000))
    try harness.enqueue("a", Sample.file(path))
    #expect(harness.host.names == ["reply a", "state a paused"])
    #expect(try harness.bodyFiles().count == 1)
    try harness.relaunch()
    #expect(try harness.row()?.totalBytes == 100_000)
    #expect(try harness.bodyFiles().count == 1)
  }
}
