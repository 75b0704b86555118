import Foundation
import QueueEngine
import QueueModel
import QueueStore
import Testing

@Suite struct MovingTests {
  private func exists(_ path: String) -> Bool { FileManager.default.fileExists(atPath: path) }

  private static let large = String(repeating: "x", count: 100_000)

  @Test("D28: a moved file is gone when the enqueue is answered, and is sent", arguments: ["small", large])
  func moved(_ text: String) throws {
    let harness = try Harness()
    let path = try harness.source("source", text)
    try harness.enqueue("a", Sample.file(path, #""staging":"move""#))
    #expect(!exists(path))
    #expect(harness.transport.started.first?.body.length == Int64(text.utf8.count))
    try harness.answer(200)
    #expect(try harness.state() == .completed)
  }

  @Test("D28: a moved file whose entry cannot be kept stays where it is")
  func refused() throws {
    let harness = try Harness()
    let path = try harness.source("source", MovingTests.large)
    harness.holdStaging()
    let replies = try harness.beginEnqueue("a", Sample.file(path, #""staging":"move""#))
    harness.send(.giveUp)
    harness.releaseStaging()
    #expect(throws: Refusal.self) { try replies.get() }
    #expect(exists(path))
    #expect(try harness.bodyFiles().isEmpty)
  }

  @Test("D28: a removal that the last process did not come to is finished by the start alone")
  func finishedAtStart() throws {
    let harness = try Harness()
    let path = try harness.source("source", MovingTests.large)
    let staged = try harness.store.stager.stage(
      .file(FilePath(bytes: Array(path.utf8))), staging: .move, randomness: harness.randomness)
    try harness.store.write(durable: true) { writer in
      let enqueue = try Sample.enqueue("a", Sample.file(path, #""staging":"move""#))
      let created = Entry.created(
        number: writer.takeNumber(), from: enqueue, body: staged.body, gates: Gates(), lifetimeMs: 1000,
        now: harness.clock.now(), randomness: harness.randomness)
      try writer.insert(created.entry)
      try writer.note(staged.moved)
    }
    #expect(exists(path))
    try harness.relaunch()
    #expect(!exists(path))
  }

  @Test("D28, B137: the same id after a move uses the body that the entry owns")
  func sourceIsGone() throws {
    let harness = try Harness()
    let path = try harness.source("source", MovingTests.large)
    let request = Sample.file(path, #""staging":"move""#)
    try harness.enqueue("a", request)
    try harness.answer(400)
    #expect(try harness.enqueue("a", request).disposition == .reopened)
    let other = request.replacingOccurrences(of: "/x", with: "/y")
    try harness.answer(400)
    #expect(try harness.enqueue("a", other).disposition == .replaced)
    #expect(harness.transport.started.last?.url.text == "http://h.test/y")
    #expect(harness.transport.started.last?.body.length == 100_000)
  }

  @Test("D29: moving a symbolic link is refused and names the field")
  func symbolicLink() throws {
    let harness = try Harness()
    let path = try harness.source()
    try FileManager.default.createSymbolicLink(atPath: path + ".link", withDestinationPath: path)
    #expect {
      try harness.enqueue("a", Sample.file(path + ".link", #""staging":"move""#))
    } throws: { error in
      guard case .invalid(let input)? = error as? Refusal else { return false }
      return input.path == "request.file" && input.message.contains("symbolic link")
    }
  }
}
