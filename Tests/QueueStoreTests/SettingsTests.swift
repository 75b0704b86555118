import Foundation
import QueueModel
import Testing

@testable import QueueStore

@Suite("Settings, outcomes, diagnostics")
struct SettingsTests {
  @Test(
    "B159: gates come back as they were saved; nothing saved gives the defaults"
  )
  func gates() throws {
    let directory = try TemporaryDirectory()
    var store = try openStore(directory.queue)
    try #expect(store.reader.gates() == Gates())
    try #expect(store.reader.configuration() == Configuration())
    var gates = Gates()
    gates.paused = true
    gates.pausedKeys = [EntryKey("a/\u{0}'"), EntryKey("b"), EntryKey("é")]
    gates.wifiOnly = true
    var headers = HeaderFields()
    headers.set("X-Token", "s\"ecret\u{e9}")
    headers.set("authorization", "")
    gates.patches = [
      HeaderPatch(number: 1, headers: headers, keys: nil, origin: nil),
      HeaderPatch(number: 2, headers: HeaderFields(), keys: [EntryKey("a"), EntryKey("\"")], origin: nil),
      HeaderPatch(number: 4, headers: headers, keys: [], origin: Origin(text: "https://a.example:443")),
    ]
    gates.headerRevision = 5
    gates.outages = [
      Origin(text: "http://a:80"): Outage(number: 3, since: 10),
      Origin(text: "http://b:80"): Outage(number: 1, since: 10, endedAt: 20),
    ]
    func save() throws {
      try store.write(durable: true) { writer in
        try writer.savePause(gates)
        try writer.save(wifiOnly: gates.wifiOnly)
        try writer.savePatches(gates)
        for (origin, outage) in gates.outages { try writer.save(outage, of: origin) }
      }
      store = try openStore(directory.queue)
    }
    try save()
    try #expect(store.reader.gates() == gates)
    gates.paused = false
    gates.pausedKeys = [EntryKey("b"), EntryKey("c")]
    gates.patches.remove(at: 1)
    try save()
    try #expect(store.reader.gates() == gates)
  }

  @Test(
    "B147, B159: a configuration comes back; a damaged one gives the defaults, a failed write keeps the old"
  )
  func configuration() throws {
    let directory = try TemporaryDirectory()
    let store = try openStore(directory.queue)
    var configuration = Configuration()
    configuration.lifetimeMs = 1234
    configuration.concurrency.total = 9
    try store.write(durable: true) { try $0.save(configuration) }
    try #expect(openStore(directory.queue).reader.configuration() == configuration)
    #expect(throws: StoreError.self) {
      try store.write(durable: true) { writer in
        try writer.save(Configuration())
        try writer.save(Outage(number: 0, since: 0), of: Origin(text: "o"))
      }
    }
    try #expect(store.reader.configuration() == configuration)
    for damage in ["", "[]", "7", "{"] {
      try withDatabase(of: directory.queue) {
        try $0.execute("UPDATE setting SET value = '\(damage)' WHERE name = 'configuration'")
      }
      try #expect(store.reader.configuration() == Configuration())
    }
  }

  @Test("D38: a header value that was erased is in no file of the directory any more")
  func erasedSecret() throws {
    let directory = try TemporaryDirectory()
    let store = try openStore(directory.queue)
    var gates = Gates()
    var headers = HeaderFields()
    headers.set("Authorization", "Bearer sesame-open-0123456789")
    gates.headerRevision = 1
    gates.patches = [HeaderPatch(number: 1, headers: headers, keys: nil, origin: nil)]
    func isOnDisk() throws -> Bool {
      try names(in: directory.queue).filter { $0.hasPrefix("queue.db") }.contains {
        try Data(bytes(of: "\(directory.queue)/\($0)")).range(of: Data("sesame-open".utf8)) != nil
      }
    }
    try store.write(durable: true) { writer in
      try writer.savePatches(gates)
      try writer.insert(entry(1, headerRevision: 0))
    }
    try store.tables.connection.checkpoint(truncating: true, patient: true)
    try #expect(isOnDisk())
    try #expect(store.reader.oldestHeaderRevision() == 0)
    try store.write(durable: true) { try $0.delete(entry(1)) }
    try #expect(store.reader.oldestHeaderRevision() == nil)
    gates.patches = []
    try store.write(durable: true) { try $0.savePatches(gates) }
    try store.tables.connection.checkpoint(truncating: true, patient: true)
    try #expect(!isOnDisk())
    try #expect(store.reader.gates().headerRevision == 1)
  }

  @Test("D38: the oldest headers of a live entry say which patches are needed; settled entries need none")
  func oldestHeaders() throws {
    let directory = try TemporaryDirectory()
    let store = try openStore(directory.queue)
    try store.write(durable: true) { writer in
      try writer.insert(entry(1, headerRevision: 1, state: .settled(.error, eventID: "x")))
      try writer.insert(entry(2, headerRevision: 7))
      try writer.insert(entry(3, headerRevision: 5, state: .awaitingAuth(revision: 6)))
    }
    try #expect(store.reader.oldestHeaderRevision() == 5)
  }

  @Test("B274: outcomes come oldest first, by key, at most so many and so long, but at least one")
  func outcomes() throws {
    let directory = try TemporaryDirectory()
    var store = try openStore(directory.queue)
    let entries = try (1...6).map { try entry(Int64($0), key: $0 % 2 == 0 ? "even" : "odd", vars: "[\($0)]") }
    try store.write(durable: true) { writer in
      for entry in entries { _ = try writer.append(outcome("event-\(entry.number)", of: entry)) }
    }
    store = try openStore(directory.queue)
    func page(_ after: Int64, _ keys: Set<EntryKey>? = nil, limit: Int = 9, maxBytes: Int = .max) throws
      -> [Int64]
    {
      try store.reader.outcomes(after: after, keys: keys, limit: limit, maxBytes: maxBytes).map(
        \.outcome.entry)
    }
    try #expect(page(0) == [1, 2, 3, 4, 5, 6])
    try #expect(page(0, limit: 2) == [1, 2])
    try #expect(page(4, limit: 9) == [5, 6])
    try #expect(page(0, [EntryKey("even")]) == [2, 4, 6])
    try #expect(page(0, [EntryKey("even"), EntryKey("odd")], limit: 4) == [1, 2, 3, 4])
    try #expect(page(0, []) == [])
    try #expect(page(6) == [])
    let bytes = try #require(try store.reader.journaled(eventID: "event-1")).bytes
    try #expect(page(0, maxBytes: 1) == [1])
    try #expect(page(0, maxBytes: bytes * 2 + 8) == [1, 2])
    try withDatabase(of: directory.queue) {
      try $0.execute("UPDATE outcome_text SET text = '' WHERE number < 3")
    }
    try #expect(page(0, limit: 2) == [3, 4])
  }

  @Test(
    "B278: deliveries count over starts; an outcome goes when it is acknowledged, with its entry when asked")
  func deliveries() throws {
    let directory = try TemporaryDirectory()
    var store = try openStore(directory.queue)
    let owner = try entry(1)
    try store.write(durable: true) { writer in
      try #expect(writer.append(outcome("a", of: owner)) == 1)
      try #expect(writer.append(outcome("b", of: owner)) == 2)
      try writer.countDelivery(1)
    }
    try #expect(store.reader.unacknowledged() == 2)
    store = try openStore(directory.queue)
    try store.write(durable: true) { try $0.countDelivery(1) }
    try #expect(store.reader.journaled(eventID: "a")?.deliveries == 2)
    try #expect(store.reader.outcome(eventID: "b")?.number == 2)
    try store.write(durable: true) { try $0.deleteOutcome(1) }
    try #expect(store.reader.journaled(eventID: "a") == nil)
    try #expect(store.reader.unacknowledged() == 1)
    try store.write(durable: true) { writer in
      try #expect(writer.append(outcome("c", of: entry(2))) == 3)
      try #expect(writer.deleteOutcomes(ofEntry: 1) == ["b"])
    }
    try #expect(
      store.reader.outcomes(after: 0, keys: nil, limit: 9, maxBytes: .max).map(\.outcome.eventID) == ["c"])
    // Its entry is gone, but the number stays taken as long as an outcome tells of it.
    try openStore(directory.queue).write(durable: true) { #expect($0.takeNumber() == 3) }
  }

  @Test("B303: diagnostics keep the newest 50; a boot record replaces one that nobody took")
  func diagnostics() throws {
    let directory = try TemporaryDirectory()
    let store = try openStore(directory.queue)
    let figures = try json(#"{"a":1.0}"#)
    func record(_ at: Int64) -> Diagnostic {
      Diagnostic(at: at, level: .warn, message: "m", error: "e", figures: figures)
    }
    let taken = try store.write(durable: true) { writer in
      try writer.addDiagnostic(record(1), isBoot: true)
      for at in 2...60 { try writer.addDiagnostic(record(Int64(at)), isBoot: at == 50) }
      return try writer.takeDiagnostics()
    }
    #expect(taken.map(\.at) == (11...60).map { Int64($0) })
    #expect(taken.first?.error == "e")
    #expect(taken.first?.figures == figures)
    let next = try store.write(durable: true) { writer in
      try writer.addDiagnostic(record(1), isBoot: true)
      try writer.addDiagnostic(record(2), isBoot: false)
      try writer.addDiagnostic(record(3), isBoot: true)
      return try writer.takeDiagnostics()
    }
    #expect(next.map(\.at) == [2, 3])
    try #expect(store.write(durable: true) { try $0.takeDiagnostics() }.isEmpty)
  }
}
