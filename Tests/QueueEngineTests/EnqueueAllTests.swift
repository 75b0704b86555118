import Foundation
import QueueEngine
import QueueModel
import Testing

@testable import QueueStore

@Suite struct EnqueueAllTests {
  private static let large = String(repeating: "x", count: 100_000)

  private func exists(_ path: String) -> Bool { FileManager.default.fileExists(atPath: path) }

  /// What one of many was refused for, and its place.
  private func refused(_ replies: Replies<[EnqueueAnswer]>) -> (index: Int, reason: Refusal)? {
    do {
      _ = try replies.get()
      return nil
    } catch Refusal.entry(let index, let reason) {
      return (index, reason)
    } catch {
      Issue.record("\(error)")
      return nil
    }
  }

  private func many(_ count: Int) throws -> [Enqueue] {
    try (0..<count).map { try Sample.enqueue("e\($0)", Sample.data($0)) }
  }

  @Test("D50: all are accepted in one transaction, and every answer precedes the events about its entry")
  func accepted() throws {
    let harness = try Harness()
    try harness.subscribe()
    try harness.pause()
    harness.host.clear()
    let commits = try harness.stats().commits
    let answers = try harness.enqueueAll(many(1000))
    #expect(try harness.stats().commits == commits + 1)
    #expect(answers.map(\.row.id.text) == (0..<1000).map { "e\($0)" })
    #expect(answers.allSatisfy { $0.disposition == .created && $0.row.state == .paused })
    #expect(harness.host.names.prefix(3) == ["reply all", "state e0 paused", "state e1 paused"])
    try harness.relaunch()
    #expect(try harness.rows().count == 1000)
  }

  @Test("D50, D5 to D8: the same-id rules hold for each")
  func rules() throws {
    let harness = try Harness()
    for id in ["resumed", "replaced", "reopened", "redelivered"] {
      try harness.enqueue(id, Sample.data(1, id.hasPrefix("re") && id.count > 8 ? #""priority":"high""# : ""))
    }
    #expect(harness.transport.running.count == 4)
    for id in ["resumed", "replaced"] { try harness.pause(id) }
    for (id, status) in [("reopened", 400), ("redelivered", 200)] {
      let number = try #require(try harness.store.reader.entry(id: EntryID(id))).number
      let index = try #require(harness.transport.running.firstIndex { $0.attempt.entry == number })
      try harness.finish(.answer(status), index: index)
    }
    try harness.pause()
    let answers = try harness.enqueueAll([
      Sample.enqueue("created"), Sample.enqueue("resumed"), Sample.enqueue("replaced", Sample.data(2)),
      Sample.enqueue("reopened", Sample.data(1, #""priority":"high""#)), Sample.enqueue("redelivered"),
    ])
    #expect(answers.map(\.disposition) == [.created, .resumed, .replaced, .reopened, .redelivered])
    #expect(answers.map(\.generation) == [1, 1, 2, 2, 1])
  }

  @Test("D50: one that is running with another body refuses all, is named, and nothing was staged or written")
  func running() throws {
    let harness = try Harness()
    try harness.enqueue("e700", Sample.data(-1))
    let path = try harness.source("moved", Self.large)
    var entries = try many(1000)
    entries[3] = try Sample.enqueue("e3", Sample.file(path, #""staging":"move""#))
    let replies = harness.beginEnqueueAll(entries)
    let refusal = try #require(refused(replies))
    #expect(refusal.index == 700)
    if case .running = refusal.reason {} else { Issue.record("\(refusal.reason)") }
    #expect(try harness.rows().map(\.id.text) == ["e700"])
    #expect(try harness.bodyFiles().isEmpty && exists(path))
  }

  @Test("D50, D28: a source that is missing refuses all: what was staged goes, moved sources stay")
  func missing() throws {
    let harness = try Harness()
    let copied = try harness.source("copied", Self.large)
    let moved = try harness.source("moved", Self.large + "y")
    var entries = try many(1000)
    entries[1] = try Sample.enqueue("e1", Sample.file(copied))
    entries[2] = try Sample.enqueue("e2", Sample.file(moved, #""staging":"move""#))
    entries[998] = try Sample.enqueue("e998", Sample.file("/nowhere/at/all"))
    entries[999] = try Sample.enqueue("e999", Sample.file(copied, #""staging":"copy""#))
    harness.holdStaging()
    let replies = harness.beginEnqueueAll(entries)
    #expect(harness.heldStaging == 4 && replies.count == 0)
    harness.releaseStaging()
    let refusal = try #require(refused(replies))
    #expect(refusal.index == 998)
    guard case .fileMissing(let field) = refusal.reason else { throw refusal.reason }
    #expect(field.path == "request.file")
    #expect(try harness.rows().isEmpty)
    #expect(try harness.bodyFiles().isEmpty && exists(copied) && exists(moved))
    #expect(harness.transport.started.isEmpty)
    // The ids are free again.
    _ = try harness.source("copied", Self.large)
    entries.removeLast(2)
    #expect(try harness.enqueueAll(entries).count == 998)
    #expect(!exists(moved) && exists(copied))
  }

  @Test("D50: the rules are asked again when the bodies are there, and one that runs by then refuses all")
  func runningMeanwhile() throws {
    let harness = try Harness()
    try harness.pause()
    try harness.enqueue("b", Sample.data(1))
    let moved = try harness.source("moved", Self.large)
    harness.holdStaging()
    let replies = harness.beginEnqueueAll([
      try Sample.enqueue("a", Sample.file(moved, #""staging":"move""#)),
      try Sample.enqueue("b", Sample.data(2)),
    ])
    try harness.resume()
    #expect(harness.transport.running.count == 1)
    harness.releaseStaging()
    let refusal = try #require(refused(replies))
    #expect(refusal.index == 1)
    #expect(try harness.bodyFiles().isEmpty && exists(moved))
    #expect(try harness.rows().map(\.id.text) == ["b"])
  }

  @Test(
    "D50, D36: on a full disk all are refused and nothing is kept; the same call is safe", arguments: [0, 1])
  func fullDisk(files: Int) throws {
    let harness = try Harness()
    try harness.pause()
    let moved = try harness.source("moved", Self.large)
    var entries = try many(1000)
    if files > 0 { entries[500] = try Sample.enqueue("e500", Sample.file(moved, #""staging":"move""#)) }
    let database = try Connection(path: Array("\(harness.directory)/queue.db".utf8), .readWrite)
    try database.execute(
      """
      CREATE TRIGGER full BEFORE INSERT ON entry WHEN NEW.id = 'e900'
      BEGIN SELECT RAISE(ABORT, 'full'); END
      """)
    for _ in 0..<2 {
      #expect { _ = try harness.enqueueAll(entries) } throws: {
        if case .storage = $0 as? Refusal { true } else { false }
      }
      #expect(try harness.rows().isEmpty)
      #expect(try harness.bodyFiles().isEmpty && exists(moved))
      // The engine rests after a failure.
      harness.advance(60_000)
    }
    try database.execute("DROP TRIGGER full")
    harness.advance(60_000)
    #expect(try harness.enqueueAll(entries).allSatisfy { $0.disposition == .created })
    try harness.relaunch()
    #expect(try harness.enqueueAll(entries).allSatisfy { $0.disposition == .resumed })
    #expect(try harness.rows().count == 1000 && exists(moved) == (files == 0))
  }

  @Test(
    "D50, B141: while a body is staged, requests about each of its ids wait in order, and all others go on")
  func order() throws {
    let harness = try Harness()
    try harness.pause()
    harness.holdStaging()
    let first = try harness.beginEnqueue("a", Sample.file(try harness.source("one")))
    let all = harness.beginEnqueueAll([
      try Sample.enqueue("a", Sample.data(2)), try Sample.enqueue("b", Sample.data(2)),
      try Sample.enqueue("c", Sample.file(try harness.source("two"))),
    ])
    let later = try harness.beginEnqueue("b", Sample.data(3))
    let cancel = Replies<Void>()
    harness.send(.cancel(EntryID("c"), cancel.completion))
    #expect(try harness.enqueue("d").disposition == .created)
    #expect(first.count == 0 && all.count == 0 && later.count == 0 && cancel.count == 0)
    harness.releaseStaging()
    #expect(try first.get().disposition == .created)
    #expect(try all.get().map(\.disposition) == [.replaced, .created, .created])
    #expect(try later.get().disposition == .replaced)
    try cancel.get()
    #expect(try harness.state("c") == .cancelled)
    #expect(try harness.row("b")?.totalBytes == 7)
  }

  @Test("D50, A-STORE-09: what was not answered when the process died is not there, and sources stay")
  func died() throws {
    let harness = try Harness()
    let moved = try harness.source("moved", Self.large)
    harness.holdStaging()
    _ = harness.beginEnqueueAll([
      try Sample.enqueue("a"), try Sample.enqueue("b", Sample.file(moved, #""staging":"move""#)),
    ])
    try harness.relaunch()
    #expect(try harness.rows().isEmpty && exists(moved))
  }

  @Test("D50: a process that ends gives up what is staged and keeps nothing of the call")
  func ends() throws {
    let harness = try Harness()
    let one = try harness.source("one", Self.large)
    harness.holdStaging()
    let all = harness.beginEnqueueAll([
      try Sample.enqueue("a", Sample.file(one, #""staging":"move""#)), try Sample.enqueue("b"),
    ])
    let later = try harness.beginEnqueue("b")
    harness.send(.giveUp)
    for count in [all.count, later.count] { #expect(count == 1) }
    #expect { try all.get() } throws: { if case .shutdown = $0 as? Refusal { true } else { false } }
    #expect { try later.get() } throws: { if case .shutdown = $0 as? Refusal { true } else { false } }
    harness.releaseStaging()
    #expect(try harness.rows().isEmpty)
    #expect(try harness.bodyFiles().isEmpty && exists(one))
  }
}
