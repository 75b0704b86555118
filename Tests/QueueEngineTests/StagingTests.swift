import Foundation
import QueueEngine
import QueueModel
import Testing

@Suite struct StagingTests {
  @Test("Section 1, B141: while a body is staged, later requests for its id wait and all others go on")
  func waitsForOwnID() throws {
    let harness = try Harness()
    try harness.subscribe()
    harness.holdStaging()
    let first = try harness.beginEnqueue("a", Sample.file(try harness.source()))
    let second = try harness.beginEnqueue("a", Sample.data(2))
    let cancel = Replies<Void>()
    harness.send(.cancel(EntryID("a"), cancel.completion))
    #expect(try harness.enqueue("b").disposition == .created)
    #expect(first.count == 0 && second.count == 0 && cancel.count == 0)
    #expect(harness.host.names == ["reply b", "state b queued", "state b running"])
    harness.host.clear()
    harness.releaseStaging()
    #expect(try first.get().disposition == .created)
    #expect(try second.get().disposition == .replaced)
    try cancel.get()
    #expect(
      harness.host.names
        == [
          "reply a", "state a queued", "reply a", "state a queued", "state a cancelled",
          "settled a cancelled",
        ])
    #expect(harness.transport.started.count == 1)
  }

  @Test("Section 1: an acknowledgement counts as a request about its id and waits for the enqueue before it")
  func acknowledgeWaits() throws {
    let harness = try Harness()
    try harness.subscribe()
    let path = try harness.source()
    try harness.enqueue("a", Sample.file(path))
    try harness.answer(200)
    harness.holdStaging()
    let again = try harness.beginEnqueue("a", Sample.file(path))
    let acknowledged = Replies<Void>()
    harness.send(.acknowledge(harness.host.eventIDs, from: harness.hostID, acknowledged.completion))
    harness.releaseStaging()
    #expect(try again.get().disposition == .redelivered)
    try acknowledged.get()
    #expect(try harness.row() == nil)
    #expect(harness.transport.started.count == 1)
  }

  @Test("Section 1: a pause that arrives meanwhile applies when the staged entry commits")
  func pauseMeanwhile() throws {
    let harness = try Harness()
    harness.holdStaging()
    let replies = try harness.beginEnqueue("a", Sample.file(try harness.source()))
    try harness.pause()
    harness.releaseStaging()
    #expect(try replies.get().row.state == .paused)
    #expect(harness.transport.started.isEmpty)
  }

  @Test("Section 1: headers updated meanwhile go over those of the staged entry")
  func headersMeanwhile() throws {
    let harness = try Harness()
    harness.holdStaging()
    _ = try harness.beginEnqueue(
      "a", Sample.file(try harness.source(), #""headers":{"Authorization":"old"}"#))
    try harness.patch(#"{"Authorization":"new"}"#)
    harness.releaseStaging()
    #expect(harness.transport.started.first?.headers["Authorization"] == "new")
  }

  @Test("D1: headers given after a patch stand")
  func headersAfterwards() throws {
    let harness = try Harness()
    try harness.patch(#"{"Authorization":"old"}"#)
    try harness.enqueue("a", Sample.data(1, #""headers":{"Authorization":"new"}"#))
    #expect(harness.transport.started.first?.headers["Authorization"] == "new")
  }

  @Test("B223: a source that is missing is E_FILE_MISSING with its path, and nothing is kept")
  func missing() throws {
    let harness = try Harness()
    #expect { try harness.enqueue("a", Sample.file("/nowhere/at/all")) } throws: { error in
      guard case .fileMissing(let field) = error as? Refusal else { return false }
      return field.path == "request.file"
    }
    #expect(try harness.rows().isEmpty)
    #expect(try harness.bodyFiles().isEmpty)
  }

  @Test("D27: a body that is refused after it was staged is discarded, and the entry's own stays")
  func refusedBody() throws {
    let harness = try Harness()
    let big = String(repeating: "x", count: 100_000)
    let one = try harness.source("one", big)
    let two = try harness.source("two", big + "y")
    harness.holdStaging()
    try harness.pause()
    let first = try harness.beginEnqueue("a", Sample.file(one))
    harness.releaseStaging()
    _ = try first.get()
    #expect(try harness.bodyFiles().count == 1)
    harness.holdStaging()
    let second = try harness.beginEnqueue("a", Sample.file(two))
    try harness.resume()
    #expect(harness.transport.running.count == 1)
    harness.releaseStaging()
    #expect { try second.get() } throws: { if case .running = $0 as? Refusal { true } else { false } }
    #expect(try harness.bodyFiles().count == 1)
    #expect(harness.transport.running.first?.body.length == 100_000)
  }

  @Test("D27, B216: a replaced body file goes after the commit")
  func replacedFile() throws {
    let harness = try Harness()
    let big = String(repeating: "x", count: 100_000)
    try harness.pause()
    try harness.enqueue("a", Sample.file(try harness.source("one", big)))
    let old = try harness.bodyFiles()
    try harness.enqueue("a", Sample.file(try harness.source("two", big)))
    let new = try harness.bodyFiles()
    #expect(old.count == 1 && new.count == 1 && old != new)
  }

  @Test("D5: a file counts as the same by its path once it is gone, and as another when it changed")
  func sameFile() throws {
    let harness = try Harness()
    let path = try harness.source()
    try harness.pause()
    try harness.enqueue("a", Sample.file(path))
    try FileManager.default.removeItem(atPath: path)
    #expect(try harness.enqueue("a", Sample.file(path)).disposition == .resumed)
    _ = try harness.source("source", "other contents")
    #expect(try harness.enqueue("a", Sample.file(path)).disposition == .replaced)
    try harness.resume()
    #expect(harness.transport.running.first?.body.length == 14)
  }

  @Test("D28: another request over a source that is gone sends the body that the entry owns")
  func ownedBody() throws {
    let harness = try Harness()
    let path = try harness.source()
    try harness.pause()
    try harness.enqueue("a", Sample.file(path))
    try FileManager.default.removeItem(atPath: path)
    let answer = try harness.enqueue("a", #"{"url":"http://h.test/other","file":"\#(path)"}"#)
    #expect(answer.disposition == .replaced)
    #expect(answer.generation == 2)
    try harness.resume()
    #expect(harness.transport.running.first?.url.text == "http://h.test/other")
    #expect(harness.transport.running.first?.body.length == 8)
  }

  @Test("A-STORE-09: what was not answered when the process died is not there, and the id is free")
  func diedWhileStaging() throws {
    let harness = try Harness()
    harness.holdStaging()
    _ = try harness.beginEnqueue("a", Sample.file(try harness.source()))
    try harness.relaunch()
    #expect(try harness.rows().isEmpty)
    #expect(try harness.enqueue("a").disposition == .created)
  }
}
