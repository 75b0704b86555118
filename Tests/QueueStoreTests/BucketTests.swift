import JSONText
import QueueModel
import Testing

@testable import QueueStore

/// What the engine can do to entries, at random, over a model that is a dictionary.
private struct Storm {
  let random: SeededRandomness
  var entries: [Int64: Entry] = [:]
  var gates = Gates()

  func pick<Value>(_ values: [Value]) -> Value { values[Int(random.next() % UInt64(values.count))] }

  func group() -> String? { pick([nil, "g", "h"]) }

  func request() throws -> Descriptor {
    try descriptor(
      url: pick(["https://a.example/x", "https://b.example/y"]), priority: pick(["high", "normal"]),
      wifiOnly: pick([nil, true, false]))
  }

  func state() -> Entry.State {
    switch random.next() % 7 {
    case 6: Entry.Held(unmet: 1, isBehind: random.next() % 2 == 0).map { .held($0) } ?? .queued(.init(due: 0))
    case 0, 1: .queued(Entry.Wait(due: Int64(random.next() % 50)))
    case 2:
      .queued(
        Entry.Wait(
          due: Int64(random.next() % 50), isBackoff: true, outage: 1 + Int64(random.next() % 2),
          spread: random.fraction()))
    case 3: .running(Entry.Attempt(ordinal: 1, requestID: "r", headerRevision: gates.headerRevision))
    case 4: .awaitingAuth(revision: gates.headerRevision)
    default: .settled(pick(Outcome.Kind.allCases), eventID: "x")
    }
  }

  mutating func step(_ writer: Writer) throws {
    switch random.next() % 12 {
    case 0...3:
      let new = try entry(
        writer.takeNumber(), key: pick(["a", "b"]), request: request(),
        expiresAt: Int64(random.next() % 90), state: state(), group: group())
      try writer.insert(new)
      entries[new.number] = new
    case 4...6:
      guard let old = entries.values.min(by: { $0.number < $1.number }) else { return }
      let target = pick([old] + Array(entries.values.sorted { $0.number < $1.number }.prefix(5)))
      let new = try entry(
        target.number, key: pick([target.key.text, "a", "b"]), request: pick([target.request, request()]),
        expiresAt: pick([target.expiresAt, Int64(random.next() % 90)]), state: state(),
        group: pick([target.group?.text, group()]))
      try writer.update(new, from: target)
      entries[new.number] = new
    case 7:
      guard let gone = entries.values.min(by: { $0.number < $1.number }) else { return }
      try writer.delete(gone, leavesGroup: random.next() % 2 == 0)
      entries[gone.number] = nil
    case 8:
      let patch = HeaderPatch(
        number: gates.headerRevision + 1, headers: HeaderFields(), keys: pick([nil, [EntryKey("a")], []]),
        origin: pick([nil, Origin(text: "https://b.example:443")]))
      gates.patches.append(patch)
      gates.headerRevision += 1
      try writer.savePatches(gates)
      try writer.releaseAwaitingAuth(keys: patch.keys, origin: patch.origin)
    case 9:
      // Only some of those that a pause is about are set apart by it.
      gates.pausedGroups = Set(pick([[], ["g"], ["h"], ["g", "h"]]).map { EntryGroup($0) })
      try writer.savePause(gates)
    case 10:
      let group = EntryGroup(pick(["g", "h", "nobody"]))
      _ = try writer.setApart(group, isPaused: gates.pausedGroups.contains(group), limit: 2)
    default:
      guard let served = entries.values.min(by: { $0.number < $1.number }) else { return }
      try writer.markServed(served)
      _ = try writer.dueBuckets(.normal, at: 25) { _ in true }
    }
  }
}

private struct GivenUp: Error {}

@Suite("Buckets")
struct BucketTests {
  @Test(
    "D1, D25, D48: counts of buckets and groups, due times, deadlines equal a recount after anything",
    arguments: [1, 2, 3, UInt64.random(in: .min ... .max)])
  func storm(_ seed: UInt64) throws {
    let directory = try TemporaryDirectory()
    var store = try openStore(directory.queue)
    var storm = Storm(random: SeededRandomness(seed))
    for round in 0..<120 {
      let before = storm
      let steps = Int(storm.random.next() % 12) + 1
      let isGivenUp = storm.random.next() % 4 == 0
      do {
        try store.write(durable: false) { writer in
          for _ in 0..<steps { try storm.step(writer) }
          if isGivenUp { throw GivenUp() }
        }
      } catch {
        guard case .aborted = error else { throw error }
        storm.entries = before.entries
        storm.gates = before.gates
      }
      try expectExactBuckets(directory.queue, "seed \(seed), round \(round)")
      if round % 40 == 39 { store = try openStore(directory.queue) }
    }
    let stored = try store.reader.entries(after: 0, limit: .max).map { picture($0.entry) }
    let kept = storm.entries.values.sorted { $0.number < $1.number }.map { picture($0) }
    #expect(stored == kept, "seed \(seed)")
  }

  @Test("D25: the bucket served longest ago comes first, one never served before all")
  func rotation() throws {
    let directory = try TemporaryDirectory()
    let store = try openStore(directory.queue)
    let entries = try ["a", "b", "c"].enumerated().map { try entry(Int64($0.offset + 1), key: $0.element) }
    try store.write(durable: true) { writer in
      for entry in entries { try writer.insert(entry) }
      try writer.markServed(entries[0])
      try writer.markServed(entries[1])
      try #expect(keys(writer) == ["c", "a", "b"])
      try writer.markServed(entries[2])
      try #expect(keys(writer) == ["a", "b", "c"])
    }
    let again = try openStore(directory.queue)
    try again.write(durable: true) { writer in
      try writer.markServed(entries[0])
      try #expect(keys(writer) == ["b", "c", "a"])
    }
  }

  private func keys(_ reader: Reader) throws -> [String] {
    try reader.dueBuckets(.normal, at: 0) { _ in true }.map(\.key.text)
  }

  @Test("D25: closed buckets do not use up the limit, so that an open one behind them is found")
  func closedBuckets() throws {
    let directory = try TemporaryDirectory()
    let store = try openStore(directory.queue)
    try store.write(durable: true) { writer in
      for number in 1...100 { try writer.insert(entry(Int64(number), key: "paused\(number)")) }
      try writer.insert(entry(101, key: "open"))
    }
    let open = try store.reader.dueBuckets(.normal, at: 0, limit: 1) { $0.key.text == "open" }
    #expect(open.map(\.key.text) == ["open"])
  }

  @Test("D25: inside a bucket the oldest due goes first, then the oldest created")
  func order() throws {
    let directory = try TemporaryDirectory()
    let store = try openStore(directory.queue)
    let dues: [Int64] = [9, 5, 5, 7]
    try store.write(durable: true) { writer in
      for (index, due) in dues.enumerated() {
        try writer.insert(entry(Int64(index + 1), state: .queued(Entry.Wait(due: due))))
      }
    }
    var order: [Int64] = []
    while let bucket = try store.reader.dueBuckets(.normal, at: 8, where: { _ in true }).first {
      let next = try #require(
        try store.reader.firstDue(in: bucket, at: 8, releasedBefore: 0, woken: nil))
      order.append(next.number)
      try store.write(durable: true) { try $0.delete(next) }
    }
    #expect(order == [2, 3, 4])
    try #expect(store.reader.nextDue(after: 8) { _ in true } == 9)
    try #expect(store.reader.nextDue(after: 8) { _ in false } == nil)
    try #expect(store.reader.nextDue(after: 9) { _ in true } == nil)
  }

  @Test("D4: what has passed its deadline comes out, unless it runs or its key is paused")
  func expiring() throws {
    let directory = try TemporaryDirectory()
    let store = try openStore(directory.queue)
    let running = Entry.State.running(Entry.Attempt(ordinal: 1, requestID: "r", headerRevision: 0))
    try store.write(durable: true) { writer in
      try writer.insert(entry(1, expiresAt: 10))
      try writer.insert(entry(2, expiresAt: 11))
      try writer.insert(entry(3, expiresAt: 5, state: running))
      try writer.insert(entry(4, key: "paused", expiresAt: 1))
      try writer.insert(entry(5, expiresAt: 9, state: .awaitingAuth(revision: 0)))
      try writer.insert(entry(6, expiresAt: 8, state: .settled(.error, eventID: "x")))
    }
    let paused: Set<EntryKey> = [EntryKey("paused")]
    let reader = store.reader
    try #expect(reader.nextExpiry { !paused.contains($0.key) } == 9)
    try #expect(reader.nextExpiry { _ in true } == 1)
    try #expect(reader.expiring(at: 10, limit: 9) { !paused.contains($0.key) }.map(\.number) == [5, 1])
    try #expect(reader.expiring(at: 10, limit: 1) { !paused.contains($0.key) }.map(\.number) == [5])
    try #expect(reader.expiring(at: 8, limit: 9) { !paused.contains($0.key) }.isEmpty)
  }

  @Test("D1: a header patch lets go of what it covers by writing buckets, not entries")
  func release() throws {
    let directory = try TemporaryDirectory()
    let store = try openStore(directory.queue)
    try store.write(durable: true) { writer in
      for number in 1...3 { try writer.insert(entry(Int64(number), state: .awaitingAuth(revision: 0))) }
      try writer.insert(entry(4, key: "other", state: .awaitingAuth(revision: 0)))
    }
    let turns = try store.reader.entries(after: 0, limit: 9).map(\.turn)
    try #expect(store.reader.dueBuckets(.normal, at: .max) { _ in true }.isEmpty)
    var gates = Gates()
    gates.headerRevision = 1
    gates.patches = [HeaderPatch(number: 1, headers: HeaderFields(), keys: [EntryKey("k")], origin: nil)]
    try store.write(durable: true) { writer in
      try writer.savePatches(gates)
      try writer.releaseAwaitingAuth(keys: [EntryKey("k")], origin: nil)
    }
    try #expect(store.reader.entries(after: 0, limit: 9).map(\.turn) == turns)
    let buckets = try store.reader.dueBuckets(.normal, at: 0) { _ in true }
    #expect(buckets.map(\.released) == [3])
    let first = try store.reader.firstDue(in: buckets[0], at: 0, releasedBefore: 1, woken: nil)
    #expect(first?.number == 1)

    // One that is parked under the new headers waits, beside the others.
    try store.write(durable: true) { writer in
      try writer.update(entry(1, state: .awaitingAuth(revision: 1)), from: #require(first))
    }
    let after = try #require(try store.reader.counts().first { $0.key.text == "k" })
    #expect(after.released == 2)
    #expect(after.awaitingAuth == 1)
    #expect(
      try store.reader.firstDue(in: after, at: 0, releasedBefore: 1, woken: nil)?.number == 2)
  }

  @Test("D16: the end of an outage wakes only entries that failed in it, by their place in the spread")
  func woken() throws {
    let directory = try TemporaryDirectory()
    let store = try openStore(directory.queue)
    let origin = Origin(text: try #require(try descriptor().url).origin.text)
    func waiting(_ number: Int64, _ spread: Double, outage: Int64? = 2) throws -> Entry {
      try entry(
        number, state: .queued(Entry.Wait(due: 1000, isBackoff: true, outage: outage, spread: spread)))
    }
    try store.write(durable: true) { writer in
      try writer.save(Outage(number: 2, since: 1), of: origin)
      try writer.insert(waiting(1, 0.9))
      try writer.insert(waiting(2, 0.1))
      try writer.insert(waiting(3, 0, outage: nil))
      try #expect(writer.dueBuckets(.normal, at: 10) { _ in true }.isEmpty)
      try writer.save(Outage(number: 2, since: 1, endedAt: 5), of: origin)
    }
    let bucket = try #require(try store.reader.dueBuckets(.normal, at: 10) { _ in true }.first)
    func first(_ spread: Double) throws -> Int64? {
      try store.reader.firstDue(in: bucket, at: 10, releasedBefore: 0, woken: (2, spread))?.number
    }
    try #expect(first(0.05) == nil)
    try #expect(first(0.5) == 2)
    try #expect(store.reader.nextWoken(origin: origin, outage: 2) { _ in true } == 0.1)
    try #expect(store.reader.nextWoken(origin: origin, outage: 2, beyond: 0.1) { _ in true } == 0.9)
    try #expect(store.reader.nextWoken(origin: origin, outage: 2) { $0.key != EntryKey("k") } == nil)
    try store.write(durable: true) { try $0.delete(waiting(2, 0.1)) }
    try #expect(first(0.5) == nil)
    try #expect(first(0.95) == 1)
    try #expect(store.reader.firstDue(in: bucket, at: 10, releasedBefore: 0, woken: nil) == nil)
  }
}
