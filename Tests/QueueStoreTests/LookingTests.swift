import Foundation
import QueueModel
import Testing

@testable import QueueStore

@Suite("What only people ask the store for")
struct LookingTests {
  @Test("D39: diagnostics are read and stay; queue time goes on as the last commit noted it")
  func diagnostics() throws {
    let directory = try TemporaryDirectory()
    let store = try openStore(directory.queue)
    for number in 1...3 {
      let record = Diagnostic(at: Int64(number), level: .warn, message: "m\(number)")
      try store.write(durable: true) { try $0.addDiagnostic(record, isBoot: false) }
    }
    let reader = try Reader(reading: directory.queue)
    for _ in 0..<2 { try #expect(reader.diagnostics().map(\.record.message) == ["m1", "m2", "m3"]) }
    let second = try #require(try reader.diagnostics().dropFirst().first).number
    try #expect(reader.diagnostics(after: second).map(\.record.message) == ["m3"])
    try #expect(store.write(durable: true) { try $0.takeDiagnostics() }.count == 3)
    try #expect(reader.diagnostics().isEmpty)
    try #expect(reader.moment().steady >= start.steady)
  }

  @Test("a snapshot sees one commit, whatever is written meanwhile")
  func snapshot() throws {
    let directory = try TemporaryDirectory()
    let store = try openStore(directory.queue)
    let reader = try Reader(reading: directory.queue)
    try reader.snapshot { () throws(StoreError) in
      _ = try reader.counts()
      try store.write(durable: true) { try $0.insert(entry(1)) }
      #expect(try reader.entry(number: 1) == nil)
    }
    try #expect(reader.entry(number: 1) != nil)
  }

  @Test("outcomes of one entry, oldest first")
  func outcomes() throws {
    let directory = try TemporaryDirectory()
    let store = try openStore(directory.queue)
    try store.write(durable: true) { writer in
      for number in 1...2 {
        try writer.insert(entry(Int64(number)))
        for event in ["x", "y"] {
          _ = try writer.append(outcome("\(event)\(number)", of: entry(Int64(number))))
        }
      }
    }
    let reader = try Reader(reading: directory.queue)
    try #expect(reader.outcomes(of: entry(2)).map(\.outcome.eventID) == ["x2", "y2"])
  }

  @Test("D37, D39: a change makes no database and sets none aside; a start does")
  func mayNotStartAnew() throws {
    let directory = try TemporaryDirectory()
    func change() throws -> QueueStore {
      try QueueStore(directory: directory.queue, now: start, mayStartAnew: false)
    }
    #expect(throws: StoreError.self) { try change() }
    #expect(names(in: directory.queue).isEmpty)
    var store: QueueStore? = try openStore(directory.queue)
    try store?.write(durable: true) { try $0.insert(entry(1)) }
    store = nil
    _ = try change()
    // What the log holds is in it no more.
    for suffix in ["-wal", "-shm"] {
      try FileManager.default.removeItem(atPath: "\(directory.queue)/queue.db\(suffix)")
    }
    try Data(repeating: 0xFF, count: 9000).write(to: URL(fileURLWithPath: "\(directory.queue)/queue.db"))
    let before = names(in: directory.queue)
    #expect(throws: StoreError.self) { try change() }
    #expect(names(in: directory.queue) == before)
    _ = try openStore(directory.queue)
    #expect(names(in: directory.queue) != before)
  }

  @Test("D37: damage that was met while running keeps changes away until a start has looked")
  func notedDamage() throws {
    let directory = try TemporaryDirectory()
    var store: QueueStore? = try openStore(directory.queue)
    store?.meet(.failed(code: 11, message: "malformed"))
    store = nil
    let error = #expect(throws: StoreError.self) {
      try QueueStore(directory: directory.queue, now: start, mayStartAnew: false)
    }
    #expect(error?.message.contains("the next start of outtray serve looks at it") == true)
    _ = try openStore(directory.queue)
    _ = try QueueStore(directory: directory.queue, now: start, mayStartAnew: false)
  }

  @Test("a sound queue of every state verifies, and each kind of harm is found")
  func verify() throws {
    let directory = try TemporaryDirectory()
    let store = try openStore(directory.queue)
    let reader = try Reader(reading: directory.queue)
    let saved = try entry(1, body: StagedBody(kind: .data, length: 2, place: .row))
    try store.write(durable: true) { writer in
      try writer.insert(saved)
      try writer.putRowBody(1, Array("{}".utf8))
      _ = try writer.append(outcome("x", of: saved))
      try writer.insert(entry(2, group: "g"))
    }
    func problems() throws -> [String: [String]] {
      try Dictionary(uniqueKeysWithValues: reader.verify().checks.map { ($0.name, $0.problems) })
        .filter { !$0.value.isEmpty }
    }
    try #expect(problems().isEmpty)
    for (harm, check) in [
      ("UPDATE entry_text SET body = x'7B'", "entries"), ("UPDATE entry_text SET body = NULL", "entries"),
      ("UPDATE outcome_text SET text = '{}'", "outcomes"), ("UPDATE bucket SET completed = 4", "counts"),
      ("UPDATE bucket SET due = 7", "counts"),
      ("UPDATE member_group SET rows = 2", "groups"), ("UPDATE member SET running = 1", "groups"),
      ("UPDATE member_group SET settled_event = 'none'", "groups"),
      ("INSERT INTO dependency VALUES (1, 1, 'x', 0, 0, 1)", "dependencies"),
      ("INSERT INTO dependency VALUES (2, 7, 'x', 1, 0, 0)", "dependencies"),
      ("INSERT INTO binding VALUES (1, 'b', 'y', '', NULL, NULL)", "dependencies"),
      ("INSERT INTO lane_place VALUES (1, 'l', 1)", "lanes"),
      ("INSERT INTO lane_place VALUES (2, 'l', 7)", "lanes"),
      ("UPDATE entry_text SET lane = 'l' WHERE number = 2", "lanes"),
    ] {
      let before = try problems()[check]
      try withDatabase(of: directory.queue) { try $0.execute(harm) }
      let found = try problems()[check]
      #expect(found?.isEmpty == false && found != before, "\(harm)")
    }
  }
}
