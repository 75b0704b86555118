import JSONText
import QueueModel
import Testing

@testable import QueueStore

@Suite("Entries as they are stored")
struct RoundTripTests {
  static let states: [Entry.State] =
    [Entry.Held(unmet: 3, isBehind: false), Entry.Held(unmet: 0, isBehind: true)].compactMap(\.self).map {
      .held($0)
    } + [
      .queued(Entry.Wait(due: -5)),
      .queued(Entry.Wait(due: 1 << 60, isBackoff: true)),
      .queued(Entry.Wait(due: 7, isBackoff: true, outage: 3, spread: 0.999_999)),
      .running(
        Entry.Attempt(ordinal: 4, requestID: "11111111-2222-4333-8444-555555555555", headerRevision: 9)),
      .awaitingAuth(revision: 12),
      .settled(.completed, eventID: "e-1"),
      .settled(.error, eventID: "e-2"),
      .settled(.cancelled, eventID: "e-3"),
    ]

  @Test("B144: every state comes back as it was saved, also by another process", arguments: states)
  func state(_ state: Entry.State) throws {
    let directory = try TemporaryDirectory()
    var saved = try entry(
      1, vars: #"{"b":1.10,"a":[null,"\u0041"],"a":2}"#,
      request: descriptor(
        url: "http://[::1]:8080/x?y=%20", priority: "high", wifiOnly: false, more: #","file":"/tmp/\u00e9""#),
      body: StagedBody(
        kind: .file, length: 70_000, place: .file(name: "abc"), contentType: "text/plain",
        sources: [SourceStamp(size: 5, modifiedAt: -1), SourceStamp(size: .max, modifiedAt: 99)]),
      headerRevision: 3, expiresAt: 9_007_199_254_740_991, state: state)
    saved.generation = 7
    saved.idempotencyKey = "key \u{e9}"
    saved.attempts = 4
    saved.failures.streak = 2
    saved.failures.cutAnswers = 1
    saved.failures.followedReuse = true
    saved.failures.rules = [
      RuleCount(status: 409, bodyIncludes: "\"\\\n", count: 5),
      RuleCount(status: 423, bodyIncludes: nil, count: 0),
    ]
    saved.bytesSent = 69_999
    saved.lastRequestID = "r-9"
    let store = try openStore(directory.queue)
    try store.write(durable: true) { try $0.insert(saved) }

    #expect(picture(try store.reader.entry(number: 1)) == picture(saved))
    #expect(picture(try openStore(directory.queue).reader.entry(id: saved.id)) == picture(saved))
  }

  static let bodies: [(String, StagedBody)] = [
    ("", .none),
    (#","data":[1]"#, StagedBody(kind: .data, length: 65_536, place: .row, contentType: "application/json")),
    (#","file":"/x""#, StagedBody(kind: .file, length: 0, place: .row)),
    (
      #","form":[{"name":"n","contentType":"t/t","path":"/x"}]"#,
      StagedBody(
        kind: .form, length: 9_007_199_254_740_991, place: .file(name: "x"),
        sources: [SourceStamp(size: 1, modifiedAt: 2)])
    ),
  ]

  @Test("B144: every kind of body comes back as it was saved", arguments: bodies)
  func body(_ member: String, _ body: StagedBody) throws {
    let directory = try TemporaryDirectory()
    let store = try openStore(directory.queue)
    let saved = try entry(1, request: descriptor(more: member), body: body)
    try store.write(durable: true) { try $0.insert(saved) }
    #expect(picture(try store.reader.entry(number: 1)) == picture(saved))
  }

  static let hostileNames = [
    "a/b", "..", ".", "a:b", "a\u{0}b", "\u{0}", "'; DROP TABLE entry; --", "a%00b", "\u{e9}", "e\u{301}",
    "😀", " ",
    "\u{feff}", "A", "a", "\n", String(repeating: "\u{20ac}", count: 85) + "x",
  ]

  @Test("D10, B144: names of any bytes stay apart, and no file is called after one")
  func hostileNames() throws {
    let directory = try TemporaryDirectory()
    let store = try openStore(directory.queue)
    try store.write(durable: true) { writer in
      for (index, name) in RoundTripTests.hostileNames.enumerated() {
        try writer.insert(entry(Int64(index + 1), id: name, key: name))
      }
    }
    for (index, name) in RoundTripTests.hostileNames.enumerated() {
      let found = try #require(try store.reader.entry(id: EntryID(name)))
      #expect(found.number == Int64(index + 1))
      #expect(Array(found.key.text.utf8) == Array(name.utf8))
      let ofKey = try store.reader.entries(after: 0, limit: 100, key: EntryKey(name))
      #expect(ofKey.map(\.entry.number) == [Int64(index + 1)])
    }
    #expect(bodyFiles(of: directory.queue).isEmpty)
  }

  @Test("B145: a state is stored as its wire string", arguments: states)
  func wireString(_ state: Entry.State) throws {
    let directory = try TemporaryDirectory()
    let store = try openStore(directory.queue)
    try store.write(durable: true) { try $0.insert(entry(1, state: state)) }
    let expected =
      switch state {
      case .queued: "queued"
      case .held: "held"
      case .running, .sending: "running"
      case .awaitingAuth: "awaiting-auth"
      case .settled(let kind, _): kind.rawValue
      }
    try #expect(withDatabase(of: directory.queue) { try $0.text("SELECT state FROM entry") } == expected)
  }

  @Test(
    "B146: a damaged entry reads as absent, the others still come, and its id can be given again",
    arguments: [
      "UPDATE entry_text SET request = '{' WHERE number = 2", "DELETE FROM entry_text WHERE number = 2",
      "UPDATE entry_text SET vars = 'nope' WHERE number = 2",
      "UPDATE entry SET sources = '[1]' WHERE number = 2",
      "UPDATE entry SET rules = '{}' WHERE number = 2",
    ])
  func damagedEntry(_ damage: String) throws {
    let directory = try TemporaryDirectory()
    let store = try openStore(directory.queue)
    try store.write(durable: true) { writer in
      for number in 1...3 { try writer.insert(entry(Int64(number))) }
    }
    try withDatabase(of: directory.queue) { try $0.execute(damage) }

    try #expect(store.reader.entry(number: 2) == nil)
    try #expect(store.reader.entries(after: 0, limit: 9).map(\.entry.number) == [1, 3])
    let bucket = try #require(try store.reader.dueBuckets(.normal, at: 0) { _ in true }.first)
    #expect(
      try store.reader.firstDue(in: bucket, at: 0, releasedBefore: 0, woken: nil)?.number == 1)
    try store.write(durable: true) { writer in
      try writer.insert(entry(4, id: "e2"))
      #expect(throws: StoreError.self) { try writer.insert(entry(5, id: "e1")) }
    }
    try #expect(store.reader.entry(id: EntryID("e2"))?.number == 4)
    try expectExactBuckets(directory.queue)
  }

  @Test("B146: a damaged entry goes at its deadline, so that nothing waits for it for ever")
  func damagedEntryExpires() throws {
    let directory = try TemporaryDirectory()
    let store = try openStore(directory.queue)
    try store.write(durable: true) { try $0.insert(entry(1, expiresAt: 50)) }
    try withDatabase(of: directory.queue) { try $0.execute("UPDATE entry_text SET request = '1'") }
    try store.write(durable: true) { writer in
      try #expect(writer.expiring(at: 49, limit: 8) { _ in true }.isEmpty)
      try #expect(writer.nextExpiry { _ in true } == 50)
      try #expect(writer.expiring(at: 50, limit: 8) { _ in true }.isEmpty)
      try #expect(writer.nextExpiry { _ in true } == nil)
    }
    try #expect(store.reader.counts().isEmpty)
    try store.write(durable: true) { try #expect($0.takeDiagnostics().map(\.level) == [.error]) }
  }

  @Test("B154: deleting an entry removes its row, its texts, its bytes and its bucket")
  func delete() throws {
    let directory = try TemporaryDirectory()
    let store = try openStore(directory.queue)
    let saved = try entry(1, body: StagedBody(kind: .data, length: 3, place: .row))
    try store.write(durable: true) { writer in
      try writer.insert(saved)
      try writer.putRowBody(1, [1, 2, 3])
    }
    try store.write(durable: true) { try $0.delete(saved) }
    try withDatabase(of: directory.queue) { database in
      for table in ["entry", "entry_text", "bucket"] {
        try #expect(database.integer("SELECT count(*) FROM \(table)") == 0, "\(table)")
      }
    }
  }

  @Test(
    "B156: a page comes by creation number, each row with the turn that wrote it, and goes on where it ended")
  func pages() throws {
    let directory = try TemporaryDirectory()
    let store = try openStore(directory.queue)
    for number in [3, 1, 2] as [Int64] {
      try store.write(durable: true) {
        try $0.insert(
          entry(number, key: number == 2 ? "other" : "k", request: descriptor(wifiOnly: number == 1)))
      }
    }
    let all = try store.reader.entries(after: 0, limit: 2)
    #expect(all.map(\.entry.number) == [1, 2])
    #expect(all.map(\.turn) == [2, 3])
    try #expect(store.reader.entries(after: 2, limit: 2).map(\.entry.number) == [3])
    // The two of this key lie in different buckets.
    try #expect(store.reader.entries(after: 0, limit: 9, key: EntryKey("k")).map(\.entry.number) == [1, 3])
    try #expect(store.reader.entries(after: 0, limit: 1, key: EntryKey("k")).map(\.entry.number) == [1])
    try #expect(store.reader.entries(after: 1, limit: 9, key: EntryKey("k")).map(\.entry.number) == [3])
    try #expect(store.reader.entries(after: 0, limit: 9, id: EntryID("e2")).map(\.entry.number) == [2])
    try #expect(store.reader.entries(after: 2, limit: 9, id: EntryID("e2")).isEmpty)
    try #expect(store.reader.entries(after: 0, limit: 9, key: EntryKey("k"), id: EntryID("e2")).isEmpty)
  }

  @Test(
    "D6: an update may change id-independent texts, the key and the bucket; texts stay when they are equal")
  func update() throws {
    let directory = try TemporaryDirectory()
    let store = try openStore(directory.queue)
    let old = try entry(1)
    try store.write(durable: true) { try $0.insert(old) }
    let new = try entry(
      1, key: "other", vars: "[1]", request: descriptor(url: "https://b.example/", priority: "high"),
      state: .awaitingAuth(revision: 0))
    try store.write(durable: true) { try $0.update(new, from: old) }
    #expect(picture(try store.reader.entry(number: 1)) == picture(new))
    try expectExactBuckets(directory.queue)
  }
}
