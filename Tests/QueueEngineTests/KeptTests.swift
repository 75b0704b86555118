import QueueModel
import QueueStore
import Testing

@testable import QueueEngine

/// Rows that others need.
@Suite struct KeptTests {
  private func counts(_ harness: Harness) throws -> (rows: [String], bodies: Int) {
    (try harness.rows().map(\.id.text), try harness.bodyFiles().count)
  }

  @Test("D42: an acknowledged entry keeps its row, without its body, until those after it are gone")
  func kept() throws {
    let harness = try Harness()
    try harness.subscribe()
    let path = try harness.source("big", String(repeating: "x", count: 100_000))
    try harness.enqueue("a", Sample.file(path))
    try harness.link("b", #""after":["a"]"#)
    try harness.finish("a", .answer(200))
    try harness.acknowledge("a")
    #expect(try counts(harness).rows == ["a", "b"])
    #expect(try counts(harness).bodies == 0)
    try harness.relaunch()
    #expect(try harness.enqueue("a", Sample.file(path)).disposition == .kept)
    #expect(harness.transport.running.count == 1)
    try harness.subscribe()
    try harness.finish("b", .answer(200))
    #expect(try counts(harness).rows == ["a", "b"])
    #expect(try harness.enqueue("a", Sample.file(path)).disposition == .kept)
    try harness.acknowledge("b")
    #expect(try counts(harness).rows.isEmpty)
  }

  @Test("D42: a call that is repeated after a crash runs nothing twice, whatever has completed by then")
  func repeated() throws {
    let entries = [("a", ""), ("b", #""after":["a"]"#), ("c", #""after":["b"]"#)]
    for done in 0...2 {
      let harness = try Harness()
      try harness.subscribe()
      try harness.linkAll(entries[0], entries[1], entries[2])
      for (id, _) in entries.prefix(done) {
        try harness.finish(id, .answer(200))
        try harness.acknowledge(id)
      }
      try harness.relaunch()
      let answers = try harness.linkAll(entries[0], entries[1], entries[2])
      #expect(answers.map(\.disposition) == entries.indices.map { $0 < done ? .kept : .resumed })
      #expect(try harness.running == [entries[done].0])
      for (id, _) in entries.dropFirst(done) { try harness.finish(id, .answer(200)) }
      let sent = Dictionary(grouping: harness.transport.started, by: \.attempt.entry)
      #expect(sent.values.filter { $0.count > 1 }.count == 1, "only what was in flight went out again")
      try harness.subscribe()
      for (outcome, _) in harness.host.settled { try harness.acknowledge([outcome.eventID]) }
      #expect(try harness.rows().isEmpty)
    }
  }

  @Test("D42: the rows of a long chain go in bounded turns, over a restart")
  func longChain() throws {
    let harness = try Harness()
    try harness.subscribe(window: 1024)
    try harness.link("e0")
    for number in 1...600 { try harness.link("e\(number)", #""after":["e\#(number - 1)"]"#) }
    for number in 0..<600 {
      try harness.finish("e\(number)", .answer(200))
      try harness.acknowledge("e\(number)")
    }
    #expect(try harness.rows().count == 601)
    try harness.finish("e600", .answer(200))
    #expect(try harness.rows().count == 601)
    let last = try #require(harness.outcome("e600")).eventID
    harness.engine.process([.acknowledge([last], from: harness.hostID) { _ in }])
    #expect(try harness.engine.rows(RowQuery()).rows.count > 300)
    try harness.relaunch()
    harness.settle()
    #expect(try harness.rows().isEmpty)
  }

  @Test("D42: cancelling what comes after lets the rows go, and cancelling a kept one forgets it")
  func cancelled() throws {
    let harness = try Harness()
    try harness.subscribe()
    try harness.linkAll(("a", ""), ("b", #""after":["a"]"#))
    try harness.finish("a", .answer(200))
    try harness.acknowledge("a")
    try harness.cancel("a")
    #expect(try harness.rows().map(\.id.text) == ["b"])
    try harness.link("c", #""after":["b"]"#)
    try harness.finish("b", .answer(200))
    try harness.acknowledge("b")
    #expect(try harness.rows().map(\.id.text) == ["b", "c"])
    try harness.cancel("c")
    #expect(try harness.rows().map(\.id.text) == ["b", "c"])
    try harness.acknowledge("c")
    #expect(try harness.rows().isEmpty)
  }

  @Test("D42: entries that came after each other at different times do not keep each other for ever")
  func circles() throws {
    let harness = try Harness()
    try harness.subscribe()
    try harness.linkAll(("a", ""), ("b", #""after":["a"]"#), ("c", #""after":["b"]"#))
    for id in ["a", "b", "c"] {
      try harness.finish(id, .answer(200))
      try harness.acknowledge(id)
      // Another body under the id of what has completed comes after what came after it.
      if id == "b" { try harness.link("a", #""after":["b"]"#, Sample.data(2)) }
    }
    try harness.finish("a", .answer(200))
    #expect(try harness.rows().map(\.id.text) == ["a", "b"])
    #expect(try harness.link("b", #""after":["a"]"#).disposition == .kept)
    try harness.acknowledge("a")
    #expect(try harness.rows().isEmpty)
  }

  @Test("D42: a circle of kept rows goes with the last entry that comes after one of it")
  func circleBehindAnother() throws {
    let harness = try Harness()
    try harness.subscribe()
    try harness.linkAll(("a", ""), ("b", #""after":["a"]"#))
    try harness.finish("a", .answer(200))
    try harness.acknowledge("a")
    try harness.link("a", #""after":["b"]"#, Sample.data(2))
    try harness.link("c", #""after":["a"]"#)
    for id in ["b", "a"] {
      try harness.finish(id, .answer(200))
      try harness.acknowledge(id)
    }
    #expect(try harness.rows().map(\.id.text) == ["a", "b", "c"])
    try harness.finish("c", .answer(200))
    try harness.acknowledge("c")
    #expect(try harness.rows().isEmpty)
  }
}
