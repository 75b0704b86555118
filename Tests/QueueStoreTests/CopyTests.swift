import Foundation
import Glibc
import QueueModel
import Synchronization
import Testing

@testable import QueueStore

/// Copies of files that are not ordinary, or do not hold still (D27).
@Suite("Copying")
struct CopyTests {
  @Test("D27: holes stay holes, at the beginning, between and at the end, and the bytes are right")
  func sparse() throws {
    let directory = try TemporaryDirectory()
    let store = try openStore(directory.queue)
    let size = 256 << 20
    let source = "\(directory.path)/sparse"
    let file = open(source, O_RDWR | O_CREAT, 0o600)
    #expect(ftruncate(file, off_t(size)) == 0)
    for offset in [1 << 20, 100 << 20, (200 << 20) + 12_345] {
      #expect(pwrite(file, noise(10_000), 10_000, off_t(offset)) == 10_000)
    }
    close(file)
    for body in [BodyDescription.file(filePath(source)), .form([formField(filePath(source))])] {
      let staged = try stage(store, body)
      let name = try #require(bodyFiles(of: directory.queue).first)
      let folder = try #require(names(in: directory.queue).first { $0.hasPrefix("bodies-") })
      let path = "\(directory.queue)/\(folder)/\(name)"
      var status = stat()
      #expect(stat(path, &status) == 0)
      #expect(Int64(status.st_size) == staged.body.length)
      #expect(status.st_blocks * 512 < 4 << 20, "the holes take room")
      let copy = try Data(contentsOf: URL(fileURLWithPath: path), options: .alwaysMapped)
      let start = copy.count == size ? 0 : try #require(copy.range(of: Data("\r\n\r\n".utf8))).upperBound
      let content = try Data(contentsOf: URL(fileURLWithPath: source), options: .alwaysMapped)
      #expect(copy[start..<start + size] == content)
      store.discard(staged.body)
    }
  }

  @Test(
    "D27: a copy from another file system is as good",
    .enabled(if: FileManager.default.isWritableFile(atPath: "/dev/shm"), "needs a second file system"))
  func acrossFileSystems() throws {
    let directory = try TemporaryDirectory()
    let memory = try TemporaryDirectory(in: "/dev/shm")
    for (queue, sources) in [(directory, memory), (memory, directory)] {
      let store = try openStore(queue.queue)
      let source = try sources.write(noise(3_000_001), to: "source")
      let staged = try stage(store, .file(filePath(source)))
      try #expect(bytes(of: staged, in: queue.queue) == noise(3_000_001))
    }
  }

  @Test(
    "A-FILE-04: a file whose size is not that of its content is refused by field, empty ones are not meant",
    arguments: ["/proc/self/status", "/proc/version", "/sys/kernel/mm/transparent_hugepage/enabled"])
  func pseudo(_ path: String) throws {
    guard access(path, R_OK) == 0 else { return }
    let directory = try TemporaryDirectory()
    let store = try openStore(directory.queue)
    let refusal = #expect(throws: StageError.self) { try stage(store, .file(filePath(path))) }
    #expect(refusal == .sizeless(field: "request.file"))
    let form = #expect(throws: StageError.self) { try stage(store, .form([formField(filePath(path))])) }
    #expect(form == .sizeless(field: "request.form[0].path"))
    #expect(bodyFiles(of: directory.queue).isEmpty)
  }

  enum Disturbance: String, CaseIterable, Sendable {
    case shrinks, grows, isReplaced
  }

  @Test(
    "D5, D27: a source that never holds still is refused by field and leaves nothing",
    arguments: Disturbance.allCases)
  func disturbed(_ disturbance: Disturbance) throws {
    let directory = try TemporaryDirectory()
    let store = try openStore(directory.queue)
    let source = try directory.write(noise(200_000), to: "source")
    let times = Mutex(0)
    var stager = store.stager
    stager.onCopied = {
      let count = times.withLock { times in
        times += 1
        return times
      }
      switch disturbance {
      case .shrinks: truncate(source, off_t(200_000 - count))
      case .grows: truncate(source, off_t(200_000 + count))
      case .isReplaced:
        rename("\(source)", "\(source).old")
        _ = FileManager.default.createFile(atPath: source, contents: Data(noise(100_000 + count)))
      }
    }
    // An open file is one and the same, whatever its name stands for meanwhile; a form looks at names.
    let body: BodyDescription =
      disturbance == .isReplaced ? .form([formField(filePath(source))]) : .file(filePath(source))
    let refusal = #expect(throws: StageError.self) {
      try stager.stage(body, staging: .copy, randomness: SeededRandomness(1))
    }
    guard case .changed(let field)? = refusal else { throw try #require(refusal) }
    #expect(field.hasPrefix("request."))
    #expect(times.withLock { $0 } == 3)
    #expect(bodyFiles(of: directory.queue).isEmpty)
  }

  @Test("D27: a source that loses its name while it is copied comes whole")
  func vanishing() throws {
    let directory = try TemporaryDirectory()
    let store = try openStore(directory.queue)
    let source = try directory.write(noise(200_000), to: "source")
    var stager = store.stager
    stager.onCopied = { unlink(source) }
    let staged = try stager.stage(.file(filePath(source)), staging: .copy, randomness: SeededRandomness(1))
    try #expect(bytes(of: staged, in: directory.queue) == noise(200_000))
  }

  @Test(
    "D29, B126: spaces, percent signs and bytes that are no UTF-8 name what they name",
    arguments: [0, 100_000])
  func anyName(_ size: Int) throws {
    let directory = try TemporaryDirectory()
    let store = try openStore(directory.queue)
    for name in ["a b", "100%25", "%zz", "ü\u{301}", "-", "~", "a;b\"c'd\\e"].map({ Array($0.utf8) }) + [
      [0xFF, 0xFE, 0x0A, 0x01]
    ] {
      let path = Array("\(directory.path)/".utf8) + name
      let terminated = path.map { CChar(bitPattern: $0) } + [0]
      let file = open(terminated, O_RDWR | O_CREAT, 0o600)
      try #require(file >= 0)
      #expect(write(file, noise(size), size) == size)
      close(file)
      let staged = try stage(store, .file(FilePath(bytes: path)))
      try #expect(bytes(of: staged, in: directory.queue) == noise(size))
      store.discard(staged.body)
      unlink(terminated)
    }
  }

  @Test("A-FILE-07: a form of more files than a process may open takes few descriptors")
  func descriptors() throws {
    let directory = try TemporaryDirectory()
    let store = try openStore(directory.queue)
    let sources = try (0..<300).map { try directory.write(noise($0 * 7), to: "source-\($0)") }
    var stager = store.stager
    let prefix = "\(directory.path)/source-"
    let most = Mutex(0)
    stager.onLooking = {
      let names = (try? FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd")) ?? []
      let count = names.filter {
        (try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/fd/\($0)"))?.hasPrefix(prefix)
          ?? false
      }.count
      most.withLock { $0 = max($0, count) }
    }
    stager.onCopied = stager.onLooking
    let staged = try stager.stage(
      .form(sources.map { formField(filePath($0)) }), staging: .copy, randomness: SeededRandomness(1))
    #expect(most.withLock { $0 } <= 1)
    let all = try bytes(of: staged, in: directory.queue)
    #expect(Int64(all.count) == staged.body.length)
    #expect(staged.body.sources.map(\.size) == (0..<300).map { Int64($0 * 7) })
  }

  @Test("D29: looking at a file of our own does not take the locks that SQLite holds on it")
  func locks() throws {
    let directory = try TemporaryDirectory()
    let store = try openStore(directory.queue)
    try store.write(durable: true) { writer in
      try writer.insert(entry(1))
      let database = filePath("\(directory.queue)/queue.db-shm")
      let refusal = #expect(throws: StageError.self) { try stage(store, .file(database)) }
      #expect(refusal == .insideDirectory(field: "request.file"))
      // Another process asks whether the write lock of the log (byte 120 of the -shm file) is held.
      let locks = try String(contentsOfFile: "/proc/locks", encoding: .utf8)
      var status = stat()
      #expect(stat("\(directory.queue)/queue.db-shm", &status) == 0)
      let held = locks.split(separator: "\n").filter {
        $0.contains(":\(status.st_ino) ") && $0.contains(" WRITE ") && $0.contains(" 120 120")
      }
      #expect(held.count == 1)
    }
  }

  @Test("D36: what is not taken by a row when the process ends is unlinked at once, and no more is staged")
  func unclaimed() throws {
    let directory = try TemporaryDirectory()
    let store = try openStore(directory.queue)
    let source = filePath(try directory.write(noise(100_000), to: "source"))
    let staged = try stage(store, .file(source))
    let owner = try entry(1, request: descriptor(more: #","file":"/x""#), body: staged.body)
    try store.write(durable: true) { try $0.insert(owner) }
    _ = try stage(store, .file(source))
    var stager = store.stager
    nonisolated(unsafe) let ending = store
    stager.onCopied = { ending.discardUnclaimedBodies() }
    // The copy is whole, and its file is gone already.
    _ = try stager.stage(.file(source), staging: .copy, randomness: SeededRandomness(9))
    guard case .file(let name) = staged.body.place else { return }
    #expect(bodyFiles(of: directory.queue) == [name])
    #expect(throws: StageError.self) { try stage(store, .file(source)) }
    #expect(bodyFiles(of: directory.queue) == [name])
  }
}
