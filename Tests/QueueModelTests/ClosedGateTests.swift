import JSONText
import Testing

@testable import QueueModel

/// What `explain` says: a test for each gate.
@Suite struct ClosedGateTests {
  private func closed(
    _ entry: Entry, _ gates: Gates = Gates(), slots: Slots = Slots(Concurrency()), at now: Moment = .start
  ) -> [ClosedGate.Name] {
    gates.closed(for: entry, slots: slots, now: now).map(\.gate)
  }

  @Test("explain: nothing holds back what may start, what runs and what has settled")
  func open() throws {
    let entry = try Entry.sample()
    #expect(closed(entry).isEmpty)
    var gates = Gates()
    gates.paused = true
    #expect(closed(entry.running(), gates).isEmpty)
    #expect(closed(entry.settledSample(.error), gates).isEmpty)
  }

  @Test("explain: the queue and the key are two gates")
  func pauses() throws {
    let entry = try Entry.sample()
    var gates = Gates()
    gates.pausedKeys = [entry.key]
    #expect(closed(entry, gates) == [.key])
    gates.paused = true
    #expect(closed(entry, gates) == [.queue, .key])
  }

  @Test("explain, D34: the network holds only what waits for Wi-Fi")
  func network() throws {
    var gates = Gates()
    gates.network = Network(kind: .cellular)
    #expect(closed(try Entry.sample(), gates).isEmpty)
    gates.wifiOnly = true
    let held = gates.closed(for: try Entry.sample(), slots: Slots(Concurrency()), now: .start)
    #expect(held.map(\.gate) == [.network])
    #expect(held[0].detail.hasSuffix("the network is cellular"))
  }

  @Test("explain, D1: credentials hold until a patch that covers the entry")
  func credentials() throws {
    var entry = try Entry.sample()
    entry.state = .awaitingAuth(revision: 0)
    #expect(closed(entry) == [.credentials])
  }

  @Test("explain, D15: a backoff says when it ends, and never later than the deadline")
  func backoff() throws {
    var entry = try Entry.sample()
    entry.state = .queued(Entry.Wait(due: Moment.start.steady + 5000, isBackoff: true))
    let gates = Gates().closed(for: entry, slots: Slots(Concurrency()), now: .start)
    #expect(gates.map(\.gate) == [.backoff])
    #expect(gates[0].until == min(Moment.start.wall + 5000, entry.expiresAt))
    #expect(closed(entry, at: Moment(wall: Moment.start.wall, steady: Moment.start.steady + 5000)).isEmpty)
  }

  @Test("explain, D16: an outage holds while another attempt tries the origin")
  func outage() throws {
    let entry = try Entry.sample()
    let origin = try #require(entry.origin)
    var gates = Gates()
    gates.outages[origin] = Outage(number: 1, since: 0)
    #expect(closed(entry, gates).isEmpty)
    var slots = Slots(Concurrency())
    slots.took(.normal, origin)
    #expect(closed(entry, gates, slots: slots) == [.outage])
  }

  @Test("explain, D25: slots by priority, and by origin")
  func slots() throws {
    let entry = try Entry.sample()
    let origin = try #require(entry.origin)
    var slots = Slots(Concurrency())
    for _ in 0..<3 { slots.took(.normal, Origin(text: "http://other:80")) }
    #expect(closed(entry, slots: slots) == [.slots])
    var concurrency = Concurrency()
    concurrency.perOrigin = 1
    var narrow = Slots(concurrency)
    narrow.took(.normal, origin)
    #expect(closed(entry, slots: narrow) == [.origin])
  }
}
