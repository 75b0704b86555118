import QueueEngine
import QueueModel
import Testing

@testable import QueueStore

/// What a change of the network moves.
@Suite struct NetworkTests {
  /// a and b failed before they were sent, d after its request began; waits are ten minutes.
  private func harnessInOutage() throws -> Harness {
    let harness = try Harness()
    try harness.configure(#"{"retry":{"backoff":{"baseMs":600000,"maxMs":7200000,"jitter":0}}}"#)
    for id in ["a", "b", "d"] { try harness.enqueue(id) }
    for _ in 0..<2 { try harness.finish(.failure(.beforeRequest)) }
    try harness.finish(.failure(.afterRequestBegan))
    // The result of d ended the outage, so each fails once more in another.
    harness.pass(2001)
    #expect(harness.transport.started.count == 5)
    for _ in 0..<2 { try harness.finish(.failure(.beforeRequest)) }
    harness.pass(5000)
    #expect(harness.transport.started.count == 5)
    return harness
  }

  private func restarted(_ harness: Harness) -> Set<Int64> {
    Set(harness.transport.started[5...].map(\.attempt.entry))
  }

  @Test("D16: a new route wakes those that failed before they were sent, once, spread, and no others")
  func newRoute() throws {
    let harness = try harnessInOutage()
    harness.send(.networkDetected(Network(), isNewRoute: true))
    harness.pass(2001)
    #expect(restarted(harness) == [1, 2])
    for _ in 0..<2 { try harness.finish(.failure(.afterRequestBegan)) }
    harness.send(.networkDetected(Network(), isNewRoute: true))
    harness.pass(5000)
    #expect(harness.transport.started.count == 7)
  }

  @Test("D16: the end of an outage by a new route lasts over a restart")
  func lasts() throws {
    let harness = try harnessInOutage()
    harness.send(.networkDetected(Network(), isNewRoute: true))
    try harness.relaunch()
    harness.pass(2001)
    #expect(restarted(harness).isSuperset(of: [1, 2]))
  }

  @Test(
    "D16, D36: a new route that could not be taken in is that of the next network, unless it has none",
    arguments: [(Network().kind, true), (.none, false)])
  func keptRoute(next: Network.Kind, wakes: Bool) throws {
    let harness = try harnessInOutage()
    try harness.failUpdates(of: "outage")
    harness.send(.networkDetected(Network(), isNewRoute: true))
    try harness.endFailing()
    harness.send(.networkDetected(Network(kind: next), isNewRoute: false))
    harness.pass(5000)
    #expect(restarted(harness) == (wakes ? [1, 2] : []))
  }

  @Test("D16: a route that went away wakes nobody, nor does one that stays")
  func lostRoute() throws {
    let harness = try harnessInOutage()
    harness.send(.networkDetected(Network(kind: .none), isNewRoute: false))
    harness.send(.networkDetected(Network(kind: .none), isNewRoute: false))
    harness.pass(5000)
    #expect(harness.transport.started.count == 5)
  }

  @Test("D16, D34: a host that names another way out ends outages as well")
  func named() throws {
    let harness = try harnessInOutage()
    let host = harness.hostID
    try harness.call { .setNetwork(Network(kind: .none), from: host, $0) }
    harness.pass(5000)
    #expect(harness.transport.started.count == 5)
    try harness.call { .setNetwork(Network(kind: .cellular), from: host, $0) }
    harness.pass(2001)
    #expect(restarted(harness) == [1, 2])
  }

  @Test("D34, A-QUEUE-01: wifiOnly entries wait while there is no route, and move when it is back; others go")
  func held() throws {
    let harness = try Harness()
    harness.send(.networkDetected(Network(kind: .none), isNewRoute: false))
    try harness.enqueue("a", Sample.data(1, #""wifiOnly":true"#))
    try harness.enqueue("b")
    #expect(harness.transport.running.map(\.attempt.entry) == [2])
    #expect(try harness.state("a") == .queued)
    harness.send(.networkDetected(Network(kind: .cellular), isNewRoute: true))
    #expect(harness.transport.running.count == 1)
    harness.send(.networkDetected(Network(kind: .wifi), isNewRoute: true))
    #expect(harness.transport.running.map(\.attempt.entry) == [1, 2])
  }

  @Test("D34: an override hides what is detected meanwhile; auto and the end of its connection return to it")
  func override() throws {
    let harness = try Harness()
    let host = harness.hostID
    let other = harness.connect().id
    func source() throws -> (Network, Bool) {
      let replies = Replies<Stats>()
      harness.send(.stats(replies.completion))
      let stats = try replies.get()
      return (stats.network, stats.isNetworkNamed)
    }
    #expect(try source() == (Network(), false))
    try harness.call { .setNetwork(Network(kind: .wifi, isMetered: true), from: host, $0) }
    harness.send(.networkDetected(Network(kind: .cellular), isNewRoute: true))
    #expect(try source() == (Network(kind: .wifi, isMetered: true), true))
    try harness.call { .setNetwork(Network(kind: .none), from: other, $0) }
    #expect(try source() == (Network(kind: .none), true))
    harness.send(.disconnected(other))
    #expect(try source() == (Network(kind: .wifi, isMetered: true), true))
    try harness.call { .setNetwork(nil, from: host, $0) }
    #expect(try source() == (Network(kind: .cellular), false))
  }
}
