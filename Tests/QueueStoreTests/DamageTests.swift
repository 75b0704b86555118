import CSQLite
import Foundation
import QueueModel
import Testing

@testable import QueueStore

@Suite("Damage, and what is told of it")
struct DamageTests {
  private static let malformed = StoreError.failed(code: SQLITE_CORRUPT, message: "malformed")

  private func diagnostics(_ store: QueueStore) throws -> [Diagnostic] {
    try store.write(durable: true) { try $0.takeDiagnostics() }
  }

  /// A queue of entries with long texts, closed, whose database holds all of it.
  private func fill(_ directory: String) throws {
    let store = try openStore(directory)
    let long = descriptor(more: ",\"data\":\"\(String(repeating: "x", count: 3000))\"")
    try store.write(durable: true) { writer in
      for number in 1...60 { try writer.insert(entry(Int64(number), request: long)) }
    }
    try withDatabase(of: directory) { database in
      try #expect(database.integer("PRAGMA user_version") == Int64(Migrations.all.count))
      try #expect(database.checkpoint(truncating: true, patient: true))
    }
  }

  private func descriptor(more: String) -> Descriptor {
    do {
      return try Descriptor(
        reading: json("{\"url\":\"https://a.example/upload\"\(more)}"), path: "request")
    } catch {
      preconditionFailure("\(error)")
    }
  }

  @Test("D37: after damage was met nothing is written; other errors are no damage")
  func met() throws {
    let directory = try TemporaryDirectory()
    let store = try openStore(directory.queue)
    store.meet(.failed(code: SQLITE_FULL, message: "full"))
    store.meet(.locked)
    try store.write(durable: true) { try $0.insert(entry(1)) }
    store.meet(DamageTests.malformed)
    store.meet(.failed(code: SQLITE_NOTADB, message: "again"))
    let error = #expect(throws: StoreError.self) {
      try store.write(durable: true) { _ in Issue.record("nothing may be written") }
    }
    #expect(error?.isCorruption == true)
    #expect(store.rest(idle: true))
    try #expect(store.reader.entry(number: 1) != nil)
    let told = store.takeUnwrittenDiagnostics()
    #expect(told.map(\.level) == [.error])
    #expect(told.first?.error?.contains("malformed") == true)
    #expect(store.takeUnwrittenDiagnostics().isEmpty)
  }

  @Test("D37: damage that was met is looked for by the next start; where there is none the queue goes on")
  func whole() throws {
    let directory = try TemporaryDirectory()
    var store = try openStore(directory.queue)
    try store.write(durable: true) { try $0.insert(entry(1)) }
    store.meet(DamageTests.malformed)
    try #expect(mode(of: "\(directory.queue)/damage") == 0o600)
    store = try openStore(directory.queue)
    try #expect(store.reader.entry(number: 1) != nil)
    let told = try diagnostics(store)
    #expect(told.map(\.level) == [.warn])
    #expect(told.first?.error?.contains("malformed") == true)
    store = try openStore(directory.queue)
    try #expect(diagnostics(store).isEmpty)
  }

  @Test("D37, A-STORE-05: damage where a start does not look is met while running, and set aside by the next")
  func deepDamage() throws {
    let directory = try TemporaryDirectory()
    try fill(directory.queue)
    let database = "\(directory.queue)/queue.db"
    let page = try withDatabase(of: directory.queue) { connection in
      try connection.integer("SELECT rootpage FROM sqlite_schema WHERE name = 'entry_text'")
    }
    var content = try bytes(of: database)
    let start = Int(try #require(page) - 1) * 4096
    for index in start..<(start + 4096) { content[index] = 0x5A }
    try Data(content).write(to: URL(fileURLWithPath: database))

    var store = try openStore(directory.queue)
    let error = #expect(throws: StoreError.self) { try store.reader.entries(after: 0, limit: 60) }
    store.meet(try #require(error))
    #expect(store.damage != nil)
    store = try openStore(directory.queue)
    try #expect(store.reader.entries(after: 0, limit: 60).isEmpty)
    let told = try diagnostics(store)
    #expect(told.map(\.level) == [.error])
    #expect(told.first?.message.contains("queue.db.damaged-") == true)
    #expect(!names(in: directory.queue).contains("damage"))
  }

  @Test(
    "D37, A-STORE-06: a log beside an empty or missing database is kept under another name, bodies stay",
    arguments: [false, true])
  func lonelyLog(isMissing: Bool) throws {
    let directory = try TemporaryDirectory()
    do {
      let store = try openStore(directory.queue)
      try store.write(durable: true) { try $0.insert(entry(1)) }
    }
    let folder = try #require(names(in: directory.queue).first { $0.hasPrefix("bodies-") })
    try Data([1]).write(to: URL(fileURLWithPath: "\(directory.queue)/\(folder)/body"))
    let log = try bytes(of: "\(directory.queue)/queue.db-wal")
    #expect(!log.isEmpty)
    let database = "\(directory.queue)/queue.db"
    try FileManager.default.removeItem(atPath: database)
    if !isMissing { try Data().write(to: URL(fileURLWithPath: database)) }

    let store = try openStore(directory.queue)
    try #expect(store.reader.entry(number: 1) == nil)
    let kept = try #require(names(in: directory.queue).first { $0.hasSuffix("-wal") && $0 != "queue.db-wal" })
    try #expect(bytes(of: "\(directory.queue)/\(kept)") == log)
    #expect(names(in: "\(directory.queue)/\(folder)") == ["body"])
    let told = try diagnostics(store)
    #expect(told.map(\.level) == [.error])
    #expect(told.first?.message.contains(kept) == true)
  }

  @Test(
    "D37: without its index of the log a database is whole; without its log it is what was copied into it")
  func lostLog() throws {
    let directory = try TemporaryDirectory()
    let store = try openStore(directory.queue)
    try store.write(durable: true) { try $0.insert(entry(1)) }
    try #expect(store.tables.connection.checkpoint(truncating: true, patient: true))
    try store.write(durable: true) { try $0.insert(entry(2)) }
    let copy = try directory.copyOfQueue()
    try #expect(openStore(copy).reader.entries(after: 0, limit: 9).count == 2)
    let other = try directory.copyOfQueue()
    try FileManager.default.removeItem(atPath: "\(other)/queue.db-wal")
    try #expect(openStore(other).reader.entries(after: 0, limit: 9).map(\.entry.number) == [1])
  }

  @Test(
    "D37: a log that belongs to another database leads to no crash: it is refused, or the two are set aside")
  func strangeLog() throws {
    let directory = try TemporaryDirectory()
    let other = try TemporaryDirectory()
    for (place, count) in [(directory, 1), (other, 300)] {
      let store = try openStore(place.queue)
      try store.write(durable: true) { writer in
        for number in 1...count { try writer.insert(entry(Int64(number))) }
      }
    }
    let log = "\(directory.queue)/queue.db-wal"
    try FileManager.default.removeItem(atPath: log)
    try FileManager.default.removeItem(atPath: "\(directory.queue)/queue.db-shm")
    try FileManager.default.copyItem(atPath: "\(other.queue)/queue.db-wal", toPath: log)
    let store = try openStore(directory.queue)
    _ = try store.reader.entries(after: 0, limit: 500)
    try store.write(durable: true) { try $0.insert(entry($0.takeNumber(), id: "new")) }
    try #expect(withDatabase(of: directory.queue) { try $0.text("PRAGMA integrity_check") } == "ok")
  }

  // MARK: Diagnostics

  @Test("B303: what cannot be stored is kept, the newest 50, and stored once, with the next change")
  func unwritten() throws {
    let directory = try TemporaryDirectory()
    let store = try openStore(directory.queue)
    for number in 1...60 { store.note(.warn, "note \(number)", "why") }
    try store.write(durable: true) { _ in }
    #expect(store.hasUnwrittenDiagnostics)
    try store.tables.connection.execute("PRAGMA query_only = ON")
    #expect(throws: StoreError.self) { try store.writeDiagnostics() }
    #expect(throws: StoreError.self) { try store.write(durable: true) { try $0.insert(entry(1)) } }
    #expect(store.hasUnwrittenDiagnostics)
    try store.tables.connection.execute("PRAGMA query_only = OFF")
    try store.write(durable: true) { try $0.insert(entry(1)) }
    #expect(!store.hasUnwrittenDiagnostics)
    store.note(.warn, "note 61", "why")
    #expect(try diagnostics(store).map(\.message) == (12...61).map { "note \($0)" })
    try #expect(diagnostics(store).isEmpty)
    try #expect(diagnostics(openStore(directory.queue)).isEmpty)
  }

  @Test("B303: housekeeping that fails is told once for each run of trouble")
  func troubles() throws {
    let directory = try TemporaryDirectory()
    let store = try openStore(directory.queue)
    func letGo(_ name: String) throws {
      try store.write(durable: true) {
        try $0.release(StagedBody(kind: .file, length: 1, place: .file(name: name)), of: 1)
      }
    }
    for run in 1...2 {
      try letGo("f\(run)")
      try store.tables.connection.execute("PRAGMA query_only = ON")
      for _ in 1...5 { store.rest(idle: true) }
      try store.tables.connection.execute("PRAGMA query_only = OFF")
      // A change that has nothing to do with it, and a rest with nothing to do, end no trouble.
      store.rest(idle: false)
      store.rest(idle: false)
    }
    #expect(
      try diagnostics(store).map(\.message) == Array(repeating: "the store could not be tidied", count: 2))
  }
}
