import Foundation
import Glibc
import QueueModel
import Testing

@testable import QueueStore

@Suite("Bodies from staging to the end")
struct BodyLifeTests {
  @Test(
    "B142, B143, D27: an unused body goes at once, a released one after the commit, a rolled back one stays"
  )
  func discard() throws {
    let directory = try TemporaryDirectory()
    let store = try openStore(directory.queue)
    let source = filePath(try directory.write(noise(100_000), to: "source"))
    let unused = try stage(store, .file(source))
    #expect(bodyFiles(of: directory.queue).count == 1)
    store.discard(unused.body)
    #expect(bodyFiles(of: directory.queue).isEmpty)

    let staged = try stage(store, .file(source))
    let owner = try entry(1, request: descriptor(more: #","file":"/x""#), body: staged.body)
    try store.write(durable: true) { try $0.insert(owner) }
    guard case .file(let file, _, 100_000) = try store.reader.outgoing(owner) else {
      Issue.record("the body must be a file")
      return
    }
    try #expect(bytes(of: String(decoding: file, as: UTF8.self)) == noise(100_000))
    #expect(throws: StoreError.self) {
      try store.write(durable: true) { writer in
        try writer.delete(owner)
        throw StageError.storage(message: "")
      }
    }
    store.rest(idle: true)
    #expect(bodyFiles(of: directory.queue).count == 1)
    try store.write(durable: true) { try $0.delete(owner) }
    #expect(bodyFiles(of: directory.queue).count == 1)

    // The process ends here; the next start finishes.
    let next = try openStore(directory.queue)
    next.rest(idle: false)
    #expect(bodyFiles(of: directory.queue).isEmpty)
    try #expect(withDatabase(of: directory.queue) { try $0.integer("SELECT count(*) FROM doomed") } == 0)
  }

  @Test("D27: released bodies are unlinked in slices, and a name that is gone already holds nothing up")
  func slices() throws {
    let directory = try TemporaryDirectory()
    let store = try openStore(directory.queue)
    try store.write(durable: true) { writer in
      for number in 1...100 {
        try writer.release(StagedBody(kind: .file, length: 1, place: .file(name: "f\(number)")), of: 1)
      }
    }
    try #expect(store.sweep(limit: 64) == .someLeft)
    try #expect(store.sweep(limit: 64) == .done)
    try #expect(store.sweep(limit: 64) == .nothingToDo)
  }

  @Test("D27: a released body that cannot be unlinked stays noted, is told once, and holds up no other")
  func undeletable() throws {
    let directory = try TemporaryDirectory()
    let store = try openStore(directory.queue)
    func release(_ name: String) throws {
      try store.write(durable: true) {
        try $0.release(StagedBody(kind: .file, length: 1, place: .file(name: name)), of: 1)
      }
    }
    func noted() throws -> Int64? {
      try withDatabase(of: directory.queue) { try $0.integer("SELECT count(*) FROM doomed") }
    }
    // What is no file cannot be unlinked, not even by root.
    let obstacle = String(decoding: store.folder.path(of: "f1"), as: UTF8.self)
    try #require(mkdir(obstacle, 0o700) == 0)
    for name in ["f1", "f2"] { try release(name) }
    store.rest(idle: true)
    try #expect(noted() == 1)
    // It is left in peace until there is more to be done.
    try #expect(store.sweep(limit: 64) == .nothingToDo)
    try release("f3")
    store.rest(idle: true)
    try #expect(noted() == 1)
    try #expect(
      store.write(durable: true) { try $0.takeDiagnostics() }.map(\.message) == [
        "the store could not be tidied"
      ])

    try #require(rmdir(obstacle) == 0)
    let next = try openStore(directory.queue)
    next.rest(idle: true)
    try #expect(noted() == 0)
  }

  @Test(
    "D30: a body in the database goes out as its bytes; one that is missing is a file that does not exist")
  func outgoing() throws {
    let directory = try TemporaryDirectory()
    let store = try openStore(directory.queue)
    let owner = try entry(
      1, request: descriptor(more: #","data":1"#), body: StagedBody(kind: .data, length: 2, place: .row))
    try store.write(durable: true) { writer in
      try writer.insert(owner)
      try writer.putRowBody(1, [7, 8])
    }
    guard case .bytes([7, 8]) = try store.reader.outgoing(owner) else {
      Issue.record("bytes")
      return
    }
    try #expect(store.reader.bodyBytes(of: owner) == [7, 8])
    try withDatabase(of: directory.queue) { try $0.execute("UPDATE entry_text SET body = NULL") }
    guard case .file(let path, 0, 2) = try store.reader.outgoing(owner) else {
      Issue.record("a file")
      return
    }
    #expect(access(String(decoding: path, as: UTF8.self), F_OK) == -1)
    guard case .none = try store.reader.outgoing(entry(2)) else {
      Issue.record("none")
      return
    }
  }

  static let isRoot = geteuid() == 0

  @Test(
    "A-FILE-06: a disk that fills leaves no trace of the body; with room again the same body comes whole",
    .enabled(if: isRoot, "needs root, to mount a small file system"))
  func fullDisk() throws {
    let directory = try TemporaryDirectory()
    let small = "\(directory.path)/small"
    try FileManager.default.createDirectory(atPath: small, withIntermediateDirectories: false)
    try #require(mount("tmpfs", small, "tmpfs", 0, "size=5m") == 0, "mount: \(errno)")
    defer { umount2(small, Int32(MNT_DETACH)) }
    let store = try openStore("\(small)/queue")
    let content = noise(10_000_000)
    let source = try directory.write(content, to: "source")
    let free = freeBlocks(small)
    for _ in 1...5 {
      let refusal = #expect(throws: StageError.self) { try stage(store, .file(filePath(source))) }
      guard case .storage? = refusal else { throw try #require(refusal) }
      #expect(bodyFiles(of: "\(small)/queue").isEmpty)
      #expect(freeBlocks(small) == free)
    }
    try #expect(bytes(of: source) == content)

    // The database meets the full disk too: nothing is changed, and nothing but room is needed afterwards.
    let filler = open("\(small)/filler", O_WRONLY | O_CREAT, 0o600)
    let block = noise(65_536)
    while write(filler, block, block.count) > 0 {}
    let error = #expect(throws: StoreError.self) {
      try store.write(durable: true) { writer in
        for number in 1...9 { try writer.putRowBody(Int64(number), block) }
        try writer.insert(entry(1))
      }
    }
    guard case .failed? = error else { throw try #require(error) }
    ftruncate(filler, 0)
    close(filler)
    #expect(mount("tmpfs", small, "tmpfs", UInt(MS_REMOUNT), "size=50m") == 0)
    try #expect(store.reader.entry(number: 1) == nil)
    try store.write(durable: true) { try $0.insert(entry(1)) }
    let staged = try stage(store, .file(filePath(source)))
    try #expect(bytes(of: staged, in: "\(small)/queue") == content)
  }

  private func freeBlocks(_ path: String) -> UInt {
    var status = statvfs()
    statvfs(path, &status)
    return status.f_bfree
  }
}
