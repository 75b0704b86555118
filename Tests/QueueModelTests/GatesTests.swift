import Testing

@testable import QueueModel

@Suite("Gates")
struct GatesTests {
  private let origin = Origin(text: "https://h.test:443")

  private func headers(_ text: String) throws -> HeaderFields {
    try HeaderFields(reading: json(text), path: "h")
  }

  private func patch(_ text: String, keys: Set<EntryKey>? = nil, origin: Origin? = nil) throws -> HeaderPatch
  {
    HeaderPatch(number: 0, headers: try headers(text), keys: keys, origin: origin)
  }

  @Test("B160, B243: paused by the whole queue or by key, each undone apart")
  func pauses() {
    var gates = Gates()
    let (a, b) = (EntryKey("a"), EntryKey("b"))
    #expect(!gates.isPaused(a))
    gates.pausedKeys = [a]
    #expect(gates.isPaused(a))
    #expect(!gates.isPaused(b))
    gates.paused = true
    #expect(gates.isPaused(b))
    gates.paused = false
    #expect(gates.isPaused(a))
    #expect(!gates.isPaused(b))
  }

  @Test("D34: what wifiOnly is met by; none holds back only wifiOnly entries")
  func wifi() {
    let networks: [(Network, Bool)] = [
      (Network(kind: .wifi), false), (Network(kind: .ethernet), false),
      (Network(kind: .wifi, isMetered: true), true),
      (Network(kind: .ethernet, isMetered: true), true), (Network(kind: .cellular), true),
      (Network(kind: .cellular, isMetered: true), true), (Network(kind: .none), true),
    ]
    for (network, holds) in networks {
      for queue in [false, true] {
        var gates = Gates()
        gates.network = network
        gates.wifiOnly = queue
        #expect(gates.holdsForWifi(true) == holds)
        #expect(!gates.holdsForWifi(false))
        #expect(gates.holdsForWifi(nil) == (queue && holds))
      }
    }
  }

  @Test("D1: an entry applies the patches newer than its own headers that cover it, in order")
  func patches() throws {
    var gates = Gates()
    gates.add(try patch(#"{"X-A":"0"}"#))
    let entry = try Entry.sample(.sample(#""headers":{"x-a":"own","X-B":"own"}"#), gates: gates)
    #expect(entry.headerRevision == 1)
    #expect(gates.headers(for: entry) == entry.request.headers)

    gates.add(try patch(#"{"X-A":"2","X-C":"2"}"#))
    gates.add(try patch(#"{"X-C":"3"}"#, keys: [EntryKey("k")]))
    gates.add(try patch(#"{"X-D":"4"}"#, keys: [EntryKey("other")]))
    gates.add(try patch(#"{"X-E":"5"}"#, origin: origin))
    gates.add(try patch(#"{"X-F":"6"}"#, origin: Origin(text: "https://other:443")))
    gates.add(try patch(#"{"X-G":"7"}"#, keys: []))
    let applied = gates.headers(for: entry)
    #expect(applied.fields.map(\.name) == ["X-A", "X-B", "X-C", "X-E"])
    #expect(applied.fields.map(\.value) == ["2", "own", "3", "5"])
    #expect(gates.headerRevision == 7)
    #expect(gates.coveringRevision(key: EntryKey("k"), origin: origin) == 5)
    #expect(gates.coveringRevision(key: EntryKey("other"), origin: nil) == 4)
    #expect(gates.coveringRevision(key: EntryKey("z"), origin: Origin(text: "x")) == 2)
    #expect(Gates().coveringRevision(key: EntryKey("z"), origin: nil) == 0)
  }

  @Test("D38: a patch of the same scope takes the place of those whose names it covers")
  func supersededPatches() throws {
    var gates = Gates()
    gates.add(try patch(#"{"Authorization":"1"}"#))
    gates.add(try patch(#"{"authorization":"2"}"#))
    #expect(gates.patches.map(\.number) == [2])
    gates.add(try patch(#"{"authorization":"3"}"#, keys: [EntryKey("k")]))
    gates.add(try patch(#"{"authorization":"4","X-B":"4"}"#, origin: origin))
    #expect(gates.patches.map(\.number) == [2, 3, 4])
    gates.add(try patch(#"{"AUTHORIZATION":"5"}"#, origin: origin))
    #expect(gates.patches.map(\.number) == [2, 3, 4, 5])
    gates.add(try patch("{}"))
    gates.add(try patch("{}"))
    #expect(gates.patches.map(\.number) == [2, 3, 4, 5, 7])
    #expect(gates.headerRevision == 7)
  }

  @Test("D38: a patch is erased when no live entry is older than it; the numbers go on")
  func erasedPatches() throws {
    var gates = Gates()
    for name in ["a", "b", "c"] { gates.add(try patch(#"{"\#(name)":"1"}"#)) }
    gates.erasePatches(notNewerThan: 1)
    #expect(gates.patches.map(\.number) == [2, 3])
    gates.erasePatches(notNewerThan: nil)
    #expect(gates.patches.isEmpty)
    gates.add(try patch(#"{"d":"1"}"#))
    #expect(gates.patches.map(\.number) == [4])
  }

  @Test("D1: the standing of an entry by state, pause and patches")
  func standing() throws {
    var open = Gates()
    open.add(try patch(#"{"X-A":"1"}"#))
    var paused = open
    paused.paused = true
    let queued = try Entry.sample()
    var parked = queued
    parked.state = .awaitingAuth(revision: 1)
    var released = queued
    released.state = .awaitingAuth(revision: 0)
    let rows: [(Entry, Row.State, Row.State)] = [
      (queued, .queued, .paused), (queued.running(), .running, .paused), (parked, .awaitingAuth, .paused),
      (released, .queued, .paused), (queued.settledSample(.completed), .completed, .completed),
      (queued.settledSample(.error), .error, .error),
      (queued.settledSample(.cancelled), .cancelled, .cancelled),
    ]
    for (entry, whenOpen, whenPaused) in rows {
      #expect(open.standing(of: entry) == whenOpen)
      #expect(paused.standing(of: entry) == whenPaused)
    }
  }

  @Test("B240, B248: a patch during a pause lets go, and shows at the resume")
  func patchWhilePaused() throws {
    var gates = Gates()
    gates.pausedKeys = [EntryKey("k")]
    var entry = try Entry.sample()
    entry.state = .awaitingAuth(revision: 0)
    #expect(gates.standing(of: entry) == .paused)
    var resumed = gates
    resumed.pausedKeys = []
    #expect(resumed.standing(of: entry) == .awaitingAuth)
    gates.add(try patch("{}"))
    #expect(gates.standing(of: entry) == .paused)
    gates.pausedKeys = []
    #expect(gates.standing(of: entry) == .queued)
  }

  @Test("D16: an entry that failed in an outage is due at its wait or upon the end, whichever is first")
  func outages() throws {
    var gates = Gates()
    var entry = try Entry.sample()
    entry.state = .queued(.init(due: 50_000, isBackoff: true, outage: 3, spread: 0.5))
    #expect(gates.dueTime(of: entry) == 50_000)
    gates.outages[origin] = Outage(number: 3, since: 1000)
    #expect(gates.hasOutage(origin))
    #expect(gates.openOutage(of: origin) == 3)
    #expect(gates.dueTime(of: entry) == 50_000)
    gates.outages[origin]?.endedAt = 20_000
    #expect(!gates.hasOutage(origin))
    #expect(gates.openOutage(of: origin) == nil)
    #expect(gates.dueTime(of: entry) == 21_000)
    gates.outages[origin]?.endedAt = 49_500
    #expect(gates.dueTime(of: entry) == 50_000)
    gates.outages[origin] = Outage(number: 4, since: 30_000)
    #expect(gates.dueTime(of: entry) == 31_000)
    gates.outages[origin] = Outage(number: 2, since: 0, endedAt: 10)
    #expect(gates.dueTime(of: entry) == 50_000)
    entry.state = .queued(.init(due: 50_000, isBackoff: true))
    gates.outages[origin] = Outage(number: 3, since: 0, endedAt: 10)
    #expect(gates.dueTime(of: entry) == 50_000)
  }

  @Test("D16: what the spread has reached and when an entry wakes agree")
  func spread() {
    for place in [0, 0.25, 0.333, 0.999_999] {
      let delay = Gates.wakeDelay(of: place)
      #expect((0...Gates.outageSpreadMs).contains(delay))
      #expect(Gates.spread(reachedAt: 5000 + delay, endedAt: 5000) >= place)
      if delay > 0 { #expect(Gates.spread(reachedAt: 5000 + delay - 1, endedAt: 5000) < place) }
    }
    #expect(Gates.spread(reachedAt: 0, endedAt: 10) == 0)
    #expect(Gates.spread(reachedAt: .max / 2, endedAt: 10) == 1)
  }

  @Test("D1: who waits for credentials is due once a covering patch is there; others as they stand")
  func due() throws {
    var gates = Gates()
    var entry = try Entry.sample()
    #expect(gates.dueTime(of: entry) == Moment.start.steady)
    #expect(gates.dueTime(of: entry.running()) == nil)
    #expect(gates.dueTime(of: entry.settledSample(.error)) == nil)
    entry.state = .awaitingAuth(revision: 0)
    #expect(gates.dueTime(of: entry) == nil)
    gates.add(try patch("{}", keys: [EntryKey("other")]))
    #expect(gates.dueTime(of: entry) == nil)
    gates.add(try patch("{}", keys: [EntryKey("k")]))
    #expect(gates.dueTime(of: entry) == 0)
  }
}
