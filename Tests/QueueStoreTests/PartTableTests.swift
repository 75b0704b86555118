import Foundation
import QueueModel
import Testing

@testable import QueueStore

@Suite("Entries in parts on disk")
struct PartTableTests {
  private func request(_ count: Int) throws -> Descriptor {
    let parts = (0..<count).map { index in
      #"{"url":"https://a.example/\#(index)","headers":{"N":"\#(index)"},"#
        + #""range":{"start":\#(index),"end":\#(index + 1)}}"#
    }
    return try Descriptor(
      reading: json(#"{"method":"PUT","file":"/a","parts":[\#(parts.joined(separator: ","))]}"#))
  }

  private func plan(_ request: Descriptor) -> [PartRequest] {
    guard case .parts(_, let parts) = request.body else { return [] }
    return parts
  }

  private func wait(_ due: Int64) -> Entry.Wait {
    Entry.Wait(due: due, isBackoff: true, outage: 2, spread: 0.25)
  }

  /// Two begun: part 0 waits with everything that can be counted, part 1 is in flight.
  private func sample(_ count: Int = 4, state: Entry.State = .sending(next: 7)) throws -> Entry {
    let request = try request(count)
    var entry = try entry(
      1, request: request, body: StagedBody(kind: .parts, length: Int64(count), place: .row), state: state)
    var failures = FailureCounts()
    failures.streak = 3
    failures.cutAnswers = 2
    failures.followedReuse = true
    failures.rules = [RuleCount(status: 418, bodyIncludes: "t", count: 1)]
    let open = [
      Part(
        index: 0, state: .waiting(wait(50)),
        attempt: .init(ordinal: 1, requestID: "r1", headerRevision: -1), generation: 1, failures: failures),
      Part(
        index: 1, state: .inFlight, attempt: .init(ordinal: 2, requestID: "r2", headerRevision: 4),
        generation: 1),
    ]
    entry.parts = Parts(
      count: count, begun: 2, accepted: 0, acceptedBytes: 0, open: open,
      latest: .init(index: 1, url: plan(request)[1].url), since: 1)
    entry.attempts = 2
    return entry
  }

  private func save(_ entry: Entry, in store: QueueStore) throws {
    try store.write(durable: true) { writer in
      try writer.insert(entry)
      try writer.putParts(plan(entry.request), of: entry.number)
    }
  }

  @Test("B144: parts, their waits, counts and requests come back as they were saved")
  func roundTrip() throws {
    let directory = try TemporaryDirectory()
    let store = try openStore(directory.queue)
    let saved = try sample()
    try save(saved, in: store)
    let found = try #require(try store.reader.entry(number: 1))
    #expect(found.parts == saved.parts)
    #expect(found.state == .sending(next: 7))
    #expect(found.attemptsInFlight == saved.attemptsInFlight)
    try #expect(store.reader.storedParts(of: found) == plan(saved.request))
    try #expect(store.reader.partRequest(of: found, at: 2) == plan(saved.request)[2])
    try #expect(store.reader.partRequest(of: found, at: 4) == nil)
    try #expect(store.reader.running().map(\.parts) == [saved.parts])
    try #expect(store.reader.entries(after: 0, limit: 9).map(\.entry.parts) == [saved.parts])
    try expectExactBuckets(directory.queue)
  }

  @Test("D25: an entry with parts in flight comes up when one more may go, before what was queued later")
  func due() throws {
    let directory = try TemporaryDirectory()
    let store = try openStore(directory.queue)
    let saved = try sample()
    try save(saved, in: store)
    try store.write(durable: true) { writer in
      try writer.insert(entry(2, request: descriptor(), state: .queued(.init(due: 8))))
    }
    func first(_ steady: Int64) throws -> Int64? {
      let bucket = try store.reader.dueBuckets(.normal, at: steady) { _ in true }.first
      return try bucket.flatMap {
        try store.reader.firstDue(in: $0, at: steady, releasedBefore: 0, woken: nil)?.number
      }
    }
    try #expect(first(6) == nil)
    try #expect(store.reader.nextDue(after: 6) { _ in true } == 7)
    try #expect(first(7) == 1)
    try #expect(first(8) == 1)
    var later = saved
    later.state = .sending(next: 9)
    try store.write(durable: true) { try $0.update(later, from: saved) }
    try #expect(first(9) == 2)
    try #expect(store.reader.nextDue(after: 8) { _ in true } == 9)
    var full = later
    full.state = .sending(next: nil)
    try store.write(durable: true) { try $0.update(full, from: later) }
    try expectExactBuckets(directory.queue)
    try #expect(store.reader.nextDue(after: 8) { _ in true } == nil)
    try store.write(durable: true) { try $0.delete(full) }
    try expectExactBuckets(directory.queue)
    try expectNoParts(directory)
  }

  @Test("A change of one part writes a few rows, however many parts there are", arguments: [4, 5000])
  func writesFewRows(_ count: Int) throws {
    let directory = try TemporaryDirectory()
    let store = try openStore(directory.queue)
    let saved = try sample(count)
    try save(saved, in: store)
    var accepted = saved
    accepted.parts?.open.removeLast()
    accepted.parts?.accepted = 1
    accepted.parts?.acceptedBytes = 1
    accepted.state = .queued(.init(due: 50))
    let before = store.tables.connection.changes
    try store.write(durable: true) { try $0.update(accepted, from: saved) }
    #expect(store.tables.connection.changes - before <= 8)
    let found = try #require(try store.reader.entry(number: 1))
    #expect(found.parts == accepted.parts)
    try #expect(states(directory) == "waiting accepted")
  }

  private func states(_ directory: TemporaryDirectory) throws -> String? {
    try withDatabase(of: directory.queue) {
      try $0.text(
        "SELECT ifnull(group_concat(state, ' '), '') FROM (SELECT state FROM part ORDER BY position)")
    }
  }

  @Test("B268: another plan forgets the parts of the old one, and a body of another kind all of them")
  func replaced() throws {
    let directory = try TemporaryDirectory()
    let store = try openStore(directory.queue)
    let saved = try sample()
    try save(saved, in: store)
    var other = saved
    other.generation = 2
    other.state = .queued(.init(due: 0))
    other.parts?.since = 2
    other.parts?.open = []
    other.parts?.begun = 0
    try store.write(durable: true) { try $0.update(other, from: saved) }
    try #expect(store.reader.entry(number: 1)?.parts == other.parts)
    try #expect(states(directory) == "")
    var whole = try entry(1)
    whole.generation = 3
    try store.write(durable: true) { try $0.update(whole, from: other) }
    try expectNoParts(directory)
  }

  private func expectNoParts(_ directory: TemporaryDirectory) throws {
    for table in ["parts", "part", "part_text"] {
      try withDatabase(of: directory.queue) {
        try #expect($0.integer("SELECT count(*) FROM \(table)") == 0, "\(table)")
      }
    }
  }

  @Test(
    "B146: an entry whose parts are damaged reads as absent, the others still come, and its id is free",
    arguments: [
      "DELETE FROM parts", "DELETE FROM part_text", "UPDATE part SET rules = 'nope' WHERE position = 0",
      "UPDATE part_text SET url = 'nope'",
    ])
  func damaged(_ damage: String) throws {
    let directory = try TemporaryDirectory()
    let store = try openStore(directory.queue)
    try save(try sample(), in: store)
    try store.write(durable: true) { try $0.insert(entry(2)) }
    try withDatabase(of: directory.queue) { try $0.execute(damage) }
    try #expect(store.reader.entry(number: 1) == nil)
    try #expect(store.reader.entries(after: 0, limit: 1).map(\.entry.number) == [2])
    try store.write(durable: true) { try $0.insert(entry(3, id: "e1")) }
    try expectExactBuckets(directory.queue)
  }
}
