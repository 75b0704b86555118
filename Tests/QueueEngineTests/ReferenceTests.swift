import Foundation
import QueueEngine
import QueueModel
import Testing

/// Entries that refer to the caller's own files (D28).
@Suite struct ReferenceTests {
  private static let reference = #""staging":"reference""#

  /// What the attempt that runs reads: the stamps of the caller's files; empty when the body is ours.
  private func stamps(_ harness: Harness) throws -> [SourceStamp] {
    guard case .referenced(let pieces) = try #require(harness.transport.running.first).body else { return [] }
    return pieces.compactMap { if case .file(_, let stamp, _) = $0 { stamp } else { nil } }
  }

  private func isFileMissing(_ error: any Error) -> Bool {
    if case .fileMissing = error as? Refusal { true } else { false }
  }

  @Test("D28: the attempt reads the caller's file; neither settle, acknowledgement nor cancel deletes it")
  func life() throws {
    let harness = try Harness()
    try harness.subscribe()
    let path = try harness.source("big", String(repeating: "x", count: 100_000))
    let answer = try harness.enqueue("a", Sample.file(path, ReferenceTests.reference))
    #expect(answer.row.totalBytes == 100_000)
    #expect(try stamps(harness).count == 1)
    #expect(try harness.bodyFiles().isEmpty)
    try harness.relaunch()
    try harness.subscribe()
    #expect(try stamps(harness).count == 1)
    try harness.answer(200)
    try harness.acknowledge(harness.host.eventIDs)
    try harness.enqueue("b", Sample.file(path, ReferenceTests.reference))
    try harness.cancel("b")
    try harness.cancel("b")
    #expect(try harness.rows().isEmpty)
    #expect(try String(contentsOfFile: path, encoding: .utf8).utf8.count == 100_000)
  }

  @Test("D28: a change settles `file` with the answer, also after a 2xx; the entry can be enqueued again")
  func changed() throws {
    let harness = try Harness()
    try harness.subscribe()
    let path = try harness.source()
    try harness.enqueue("a", Sample.file(path, ReferenceTests.reference))
    var result = AttemptResult.answer(201)
    result.failure = TransferFailure(.bodyChanged, "changed")
    try harness.finish(result)
    guard case .error(.file, _, let response)? = harness.host.settled.first?.outcome.settlement else {
      Issue.record("\(harness.host.names)")
      return
    }
    #expect(response?.status == 201)
    let before = try #require(harness.transport.started.first)
    _ = try harness.source("source", "contents")
    let answer = try harness.enqueue("a", Sample.file(path, ReferenceTests.reference))
    #expect(answer.generation == 2)
    guard case .referenced(let old) = before.body, case .file(_, let oldStamp, _) = old[0] else { return }
    #expect(try stamps(harness) != [oldStamp])
  }

  @Test("D5, D28: another inode makes no other body, and the file is the one that was named last")
  func renamed() throws {
    let harness = try Harness()
    let path = try harness.source()
    try harness.pause()
    try harness.enqueue("a", Sample.file(path, ReferenceTests.reference))
    let attributes = try FileManager.default.attributesOfItem(atPath: path)
    let modified = try #require(attributes[.modificationDate] as? Date)
    let other = try harness.source("other", "contents")
    var times = [timespec(), timespec()]
    var status = stat()
    #expect(stat(path, &status) == 0)
    times = [status.st_mtim, status.st_mtim]
    #expect(utimensat(AT_FDCWD, other, &times, 0) == 0 && rename(other, path) == 0)
    _ = modified
    #expect(try harness.enqueue("a", Sample.file(path, ReferenceTests.reference)).disposition == .resumed)
    try harness.resume()
    #expect(stat(path, &status) == 0)
    #expect(try stamps(harness).map(\.inode) == [Int64(status.st_ino)])
  }

  @Test("D28: the same id with another content is a replace, and a refusal while it runs")
  func replaced() throws {
    let harness = try Harness()
    let path = try harness.source()
    try harness.enqueue("a", Sample.file(path, ReferenceTests.reference))
    _ = try harness.source("source", "other contents")
    #expect { try harness.enqueue("a", Sample.file(path, ReferenceTests.reference)) } throws: {
      if case .running = $0 as? Refusal { true } else { false }
    }
    try harness.pause()
    #expect(try harness.enqueue("a", Sample.file(path, ReferenceTests.reference)).disposition == .replaced)
    try harness.resume()
    #expect(try stamps(harness).map(\.size) == [14])
  }

  @Test("D28: an enqueue that copies owns a copy once it is answered, so that the file may go")
  func copied() throws {
    let harness = try Harness()
    let path = try harness.source("big", String(repeating: "x", count: 100_000))
    try harness.enqueue("a", Sample.file(path, ReferenceTests.reference))
    let first = try harness.attempt()
    #expect(try harness.enqueue("a", Sample.file(path)).disposition == .resumed)
    #expect(harness.transport.stopped == [first])
    #expect(try harness.bodyFiles().count == 1)
    try FileManager.default.removeItem(atPath: path)
    #expect(harness.transport.running.first?.body.length == 100_000)
    #expect(try stamps(harness).isEmpty)
    // The entry owns it from now on, whatever is asked for later.
    try harness.pause()
    #expect(try harness.enqueue("a", Sample.file(path, ReferenceTests.reference)).disposition == .resumed)
    #expect(try harness.bodyFiles().count == 1)
  }

  @Test("D28: an enqueue that moves takes the file over, and its name goes", arguments: [100, 100_000])
  func moved(_ size: Int) throws {
    let harness = try Harness()
    let path = try harness.source("big", String(repeating: "x", count: size))
    try harness.enqueue("a", Sample.file(path, ReferenceTests.reference))
    let answer = try harness.enqueue("a", Sample.file(path, #""staging":"move""#))
    #expect(answer.disposition == .resumed)
    #expect(!harness.exists(path))
    #expect(try stamps(harness).isEmpty)
    #expect(harness.transport.running.first?.body.length == Int64(size))
    try harness.relaunch()
    try harness.answer(200)
    #expect(try harness.state() == .completed)
  }

  @Test("D28: a small file that is copied in place of a reference lies in the database")
  func copiedSmall() throws {
    let harness = try Harness()
    let path = try harness.source()
    try harness.pause()
    try harness.enqueue("a", Sample.file(path, ReferenceTests.reference))
    try harness.enqueue("a", Sample.file(path))
    try FileManager.default.removeItem(atPath: path)
    try harness.resume()
    guard case .bytes(let bytes)? = harness.transport.running.first?.body else {
      Issue.record("no bytes")
      return
    }
    #expect(bytes == Array("contents".utf8))
  }

  @Test(
    "D28: a reference owns no body: once the file is gone the same enqueue is E_FILE_MISSING, nothing changes"
  )
  func gone() throws {
    let harness = try Harness()
    let path = try harness.source()
    try harness.pause()
    try harness.enqueue("a", Sample.file(path, ReferenceTests.reference))
    let row = try harness.row()
    try FileManager.default.removeItem(atPath: path)
    for more in [ReferenceTests.reference, #""staging":"copy""#] {
      #expect(throws: Refusal.self) { try harness.enqueue("a", Sample.file(path, more)) }
    }
    #expect(try harness.row()?.updatedAt == row?.updatedAt)
    try harness.cancel()
    #expect(try harness.state() == .cancelled)
  }

  @Test("D28: a completed one is delivered again without a look at its file")
  func redelivered() throws {
    let harness = try Harness()
    let path = try harness.source()
    try harness.enqueue("a", Sample.file(path, ReferenceTests.reference))
    try harness.answer(200)
    try FileManager.default.removeItem(atPath: path)
    #expect(try harness.enqueue("a", Sample.file(path, ReferenceTests.reference)).disposition == .redelivered)
    #expect(harness.transport.started.count == 1)
  }
}
