import Foundation
import Glibc
import QueueModel
import Testing

@testable import QueueStore

/// What becomes of a file that a host gives away.
@Suite("Staging by move")
struct MovingTests {
  private func move(_ store: QueueStore, _ body: BodyDescription) throws(StageError) -> Staged {
    try store.stager.stage(
      body, staging: .move, randomness: SeededRandomness(UInt64.random(in: 0...UInt64.max)))
  }

  /// An entry that owns the body, with the names that are to go noted beside it.
  private func commit(_ staged: Staged, _ number: Int64 = 1, in store: QueueStore) throws {
    try store.write(durable: true) { writer in
      try writer.insert(entry(number, request: descriptor(kind: staged.body.kind), body: staged.body))
      if let bytes = staged.rowBytes { try writer.putRowBody(number, bytes) }
      try writer.note(staged.moved)
    }
  }

  private func descriptor(kind: BodyKind) throws -> Descriptor {
    let body =
      kind == .form
      ? #""form":[{"name":"f","contentType":"t/t","path":"/a"}]"# : #""file":"/a","staging":"move""#
    return try Descriptor(reading: json(#"{"url":"https://a.example/u",\#(body)}"#))
  }

  private func inode(_ path: String) throws -> UInt64 {
    var status = stat()
    try #require(lstat(path, &status) == 0)
    return UInt64(status.st_ino)
  }

  private func bodyPath(_ queue: String) throws -> String {
    let folder = try #require(names(in: queue).first { $0.hasPrefix("bodies-") })
    return "\(queue)/\(folder)/\(try #require(bodyFiles(of: queue).first))"
  }

  private func exists(_ path: String) -> Bool { access(path, F_OK) == 0 }

  @Test("D28: a moved file is the same file, and the caller's name goes after the commit and not before")
  func linked() throws {
    let directory = try TemporaryDirectory()
    let store = try openStore(directory.queue)
    let source = try directory.write(noise(100_000), to: "source")
    chmod(source, 0o644)
    let before = try inode(source)
    let staged = try move(store, .file(filePath(source)))
    #expect(exists(source), "nobody owns it yet")
    store.removeMoved()
    #expect(exists(source), "nothing is committed")
    try commit(staged, in: store)
    store.removeMoved()
    #expect(!exists(source))
    let body = try bodyPath(directory.queue)
    try #expect(inode(body) == before, "no byte was copied")
    try #expect(mode(of: body) == 0o600)
    try #expect(bytes(of: body) == noise(100_000))
    #expect(staged.body.length == 100_000)
    #expect(staged.body.sources.map(\.size) == [100_000])
  }

  @Test("D27, D28: a small file is moved into its row", arguments: [0, 1, 65_536])
  func small(_ size: Int) throws {
    let directory = try TemporaryDirectory()
    let store = try openStore(directory.queue)
    let source = try directory.write(noise(size), to: "source")
    let staged = try move(store, .file(filePath(source)))
    #expect(staged.rowBytes == noise(size))
    try commit(staged, in: store)
    store.removeMoved()
    #expect(!exists(source))
    #expect(bodyFiles(of: directory.queue).isEmpty)
  }

  @Test("D28: across file systems the bytes are copied, and the name goes then")
  func acrossFileSystems() throws {
    let directory = try TemporaryDirectory()
    try #require(exists("/dev/shm"))
    let other = try TemporaryDirectory(in: "/dev/shm")
    let store = try openStore(directory.queue)
    let source = try other.write(noise(200_000), to: "source")
    let staged = try move(store, .file(filePath(source)))
    try #expect(bytes(of: bodyPath(directory.queue)) == noise(200_000))
    #expect(exists(source))
    try commit(staged, in: store)
    store.removeMoved()
    #expect(!exists(source))
  }

  @Test("D28: the files of a form are copied into it and their names go")
  func form() throws {
    let directory = try TemporaryDirectory()
    let store = try openStore(directory.queue)
    let sources = try ["one", "two"].map { try directory.write(noise(70_000), to: $0) }
    let staged = try move(store, .form(sources.map { formField(filePath($0)) }))
    #expect(sources.allSatisfy(exists))
    try commit(staged, in: store)
    store.removeMoved()
    #expect(!sources.contains(where: exists))
  }

  @Test("D28: a removal that a crash cut off is finished at the next start", arguments: [70_000, 10])
  func finishedAtStart(_ size: Int) throws {
    let directory = try TemporaryDirectory()
    let source = try directory.write(noise(size), to: "source")
    do {
      let store = try openStore(directory.queue)
      try commit(try move(store, .file(filePath(source))), in: store)
    }
    #expect(exists(source))
    let store = try openStore(directory.queue)
    store.rest(idle: true)
    #expect(!exists(source))
    try #expect(notes(directory) == 0)
  }

  private func notes(_ directory: TemporaryDirectory) throws -> Int64? {
    try withDatabase(of: directory.queue) { try $0.integer("SELECT count(*) FROM moved") }
  }

  @Test("D28: the body goes and the name too, when both wait for the next start")
  func cancelledBeforeTheStart() throws {
    let directory = try TemporaryDirectory()
    let source = try directory.write(noise(70_000), to: "source")
    do {
      let store = try openStore(directory.queue)
      try commit(try move(store, .file(filePath(source))), in: store)
      try store.write(durable: true) { try $0.delete(try #require(try $0.entry(number: 1))) }
    }
    let store = try openStore(directory.queue)
    while !store.rest(idle: true) {}
    #expect(!exists(source))
    #expect(bodyFiles(of: directory.queue).isEmpty)
  }

  @Test(
    "D28: a name that stands for another file by now stays, copied or linked, even with all its looks",
    arguments: [70_000, 10])
  func replacedSource(_ size: Int) throws {
    let directory = try TemporaryDirectory()
    let store = try openStore(directory.queue)
    let source = try directory.write(noise(size), to: "source")
    try commit(try move(store, .file(filePath(source))), in: store)
    var status = stat()
    #expect(stat(source, &status) == 0)
    unlink(source)
    _ = try directory.write(noise(size), to: "source")
    var times = [status.st_atim, status.st_mtim]
    #expect(utimensat(AT_FDCWD, source, &times, 0) == 0)
    store.removeMoved()
    #expect(exists(source))
    store.rest(idle: true)
    try #expect(notes(directory) == 0)
  }

  @Test("D28: a small file that was written to after it was copied stays")
  func changedSource() throws {
    let directory = try TemporaryDirectory()
    let store = try openStore(directory.queue)
    let source = try directory.write([1, 2], to: "source")
    try commit(try move(store, .file(filePath(source))), in: store)
    _ = try directory.write([1, 3], to: "source")
    store.removeMoved()
    #expect(exists(source))
  }

  @Test("D28: discarding what was staged leaves the caller's file in place", arguments: [70_000, 10])
  func discarded(_ size: Int) throws {
    let directory = try TemporaryDirectory()
    let store = try openStore(directory.queue)
    let source = try directory.write(noise(size), to: "source")
    store.discard(try move(store, .file(filePath(source))).body)
    #expect(bodyFiles(of: directory.queue).isEmpty)
    try #expect(bytes(of: source) == noise(size))
  }

  @Test("D29: a symbolic link is refused by field, for a file and in a form; what it names stays")
  func symbolicLinks() throws {
    let directory = try TemporaryDirectory()
    let store = try openStore(directory.queue)
    let source = try directory.write([1], to: "source")
    let link = "\(directory.path)/link"
    #expect(symlink(source, link) == 0)
    let refusal = #expect(throws: StageError.self) { try move(store, .file(filePath(link))) }
    #expect(refusal == .symbolicLink(field: "request.file"))
    let form = #expect(throws: StageError.self) { try move(store, .form([formField(filePath(link))])) }
    #expect(form == .symbolicLink(field: "request.form[0].path"))
    #expect(exists(source) && exists(link))
  }

  @Test("D29: a path inside the queue's own directory is not moved")
  func insideDirectory() throws {
    let directory = try TemporaryDirectory()
    let store = try openStore(directory.queue)
    let refusal = #expect(throws: StageError.self) {
      try move(store, .file(filePath("\(directory.queue)/queue.db")))
    }
    #expect(refusal == .insideDirectory(field: "request.file"))
  }

  @Test("D28: the folder of a file that was moved may go with it")
  func folderIsGone() throws {
    let directory = try TemporaryDirectory()
    let folder = "\(directory.path)/given"
    mkdir(folder, 0o700)
    try Data(noise(100_000)).write(to: URL(fileURLWithPath: "\(folder)/source"))
    let store = try openStore(directory.queue)
    try commit(try move(store, .file(filePath("\(folder)/source"))), in: store)
    store.removeMoved()
    #expect(rmdir(folder) == 0)
    store.rest(idle: true)
    try #expect(notes(directory) == 0)
    let told = try store.write(durable: true) { try $0.takeDiagnostics() }
    #expect(told.isEmpty)
  }

  @Test("D28: a name that cannot be removed is told once, and tried again at the next start")
  func cannotBeRemoved() throws {
    let directory = try TemporaryDirectory()
    // A directory in the file's place cannot be unlinked, even by root; the identity is made to fit it.
    let place = "\(directory.path)/place"
    mkdir(place, 0o700)
    var status = stat()
    #expect(stat(place, &status) == 0)
    do {
      let store = try openStore(directory.queue)
      let moved = MovedSource(path: filePath(place), link: nil, identity: FileIdentity(status))
      try store.write(durable: true) { try $0.note([moved]) }
      store.removeMoved()
      store.rest(idle: true)
      store.rest(idle: true)
      let told = try store.write(durable: true) { try $0.takeDiagnostics() }
      #expect(told.map(\.level) == [.warn])
      #expect(told.first?.message.contains(place) == true)
    }
    try #expect(notes(directory) == 1)
    rmdir(place)
    try openStore(directory.queue).rest(idle: true)
    try #expect(notes(directory) == 0)
  }

  @Test("D28: a name that cannot be removed goes at a later start, also when its entry is gone by then")
  func removedAfterItsEntry() throws {
    let directory = try TemporaryDirectory()
    let place = "\(directory.path)/place", away = "\(directory.path)/away"
    mkdir(place, 0o700)
    let source = try directory.write(noise(70_000), to: "place/source")
    do {
      let store = try openStore(directory.queue)
      try commit(try move(store, .file(filePath(source))), in: store)
      // The path leads nowhere for a while, whoever asks.
      rename(place, away)
      symlink(place, place)
      store.removeMoved()
      try store.write(durable: true) { try $0.delete(try #require(try $0.entry(number: 1))) }
      while !store.rest(idle: true) {}
    }
    unlink(place)
    rename(away, place)
    try #expect(notes(directory) == 1)
    let store = try openStore(directory.queue)
    while !store.rest(idle: true) {}
    #expect(!exists(source))
    #expect(bodyFiles(of: directory.queue).isEmpty)
    try #expect(notes(directory) == 0)
  }
}
