import Foundation
import Glibc
import QueueModel
import Testing

@testable import QueueStore

/// What lies in the folders of bodies and no row names (D37, B304).
@Suite("Orphans")
struct OrphanTests {
  static let name = "body-01234567-89ab-4cde-8f01-23456789abcd"
  private static let day: Int64 = 24 * 60 * 60

  private struct Queue {
    let directory: TemporaryDirectory
    let store: QueueStore
    let folder: String

    init() throws {
      directory = try TemporaryDirectory()
      store = try openStore(directory.queue)
      folder =
        "\(directory.queue)/"
        + (try #require(names(in: directory.queue).first { $0.hasPrefix("bodies-") }))
    }

    /// A file of the folder, changed so many seconds before the start.
    func put(_ name: String = OrphanTests.name, age: Int64 = OrphanTests.day + 1, bytes: Int = 10) throws {
      try Data(noise(bytes)).write(to: URL(fileURLWithPath: "\(folder)/\(name)"))
      try date(name, start.wall / 1000 - age)
    }

    func date(_ name: String, _ seconds: Int64) throws {
      var times = [timespec(tv_sec: Int(seconds), tv_nsec: 0), timespec(tv_sec: Int(seconds), tv_nsec: 0)]
      try #require(utimensat(AT_FDCWD, "\(folder)/\(name)", &times, AT_SYMLINK_NOFOLLOW) == 0)
    }

    func sweep(limit: Int = 1000) throws -> OrphanReport {
      while true {
        switch store.sweepOrphans(limit: limit) {
        case .goesOn: continue
        case .later: Issue.record("the store is well")
        case .done(let report): return report
        }
      }
    }
  }

  @Test("B303: a clean install has nothing, and says so")
  func clean() throws {
    let report = try Queue().sweep()
    #expect(report.count == OrphanCount())
    #expect(report.warnings.isEmpty)
  }

  @Test("B304: an old copy that no row names is deleted and counted")
  func deleted() throws {
    let queue = try Queue()
    try queue.put(bytes: 1234)
    var count = OrphanCount()
    count.removedFiles = 1
    count.removedBytes = 1234
    try #expect(queue.sweep().count == count)
    #expect(names(in: queue.folder).isEmpty)
  }

  @Test(
    "B304: a time that is not old, or cannot be told, keeps it",
    arguments: [day, 0, -60, day - 1, start.wall / 1000, start.wall / 1000 + 5000])
  func age(_ age: Int64) throws {
    let queue = try Queue()
    try queue.put(age: age)
    let count = try queue.sweep().count
    #expect(count.removedFiles == 0 && count.files == 1 && count.bytes == 10)
    #expect(names(in: queue.folder) == [OrphanTests.name])
  }

  @Test(
    "B304: a name that the store does not give to copies keeps it; a moved body may be the only copy",
    arguments: [
      "moved-01234567-89ab-4cde-8f01-23456789abcd", "01234567-89ab-4cde-8f01-23456789abcd", "body-1", "notes",
      "body-01234567-89AB-4cde-8f01-23456789abcd", "body-01234567-89ab-4cde-8f01-23456789abcd.tmp",
      "body-01234567-89ab-4cde-8f01-23456789abcg", "Body-01234567-89ab-4cde-8f01-23456789abcd", ".hidden",
    ])
  func unknownName(_ name: String) throws {
    let queue = try Queue()
    try queue.put(name)
    let count = try queue.sweep().count
    #expect(count.removedFiles == 0 && count.files == 1)
    #expect(names(in: queue.folder) == [name])
  }

  @Test("B304: a subdirectory, a symbolic link and a FIFO of such a name stay, and what they lead to")
  func notRegular() throws {
    let queue = try Queue()
    let others = (0..<3).map { "body-0000000\($0)-89ab-4cde-8f01-23456789abcd" }
    try FileManager.default.createDirectory(
      atPath: "\(queue.folder)/\(others[0])", withIntermediateDirectories: false)
    try Data([1]).write(to: URL(fileURLWithPath: "\(queue.folder)/\(others[0])/inside"))
    let target = try queue.directory.write([1, 2], to: "target")
    symlink(target, "\(queue.folder)/\(others[1])")
    mkfifo("\(queue.folder)/\(others[2])", 0o600)
    for name in others { try queue.date(name, start.wall / 1000 - 2 * OrphanTests.day) }
    let count = try queue.sweep().count
    #expect(count.removedFiles == 0 && count.files == 3 && count.bytes == 0)
    #expect(names(in: queue.folder) == others)
    try #expect(bytes(of: target) == [1, 2])
  }

  @Test(
    "B155, B304: what a row names stays, readable or not, and so does what is to be unlinked anyway"
  )
  func named() throws {
    let queue = try Queue()
    let names = (0..<3).map { "body-0000000\($0)-89ab-4cde-8f01-23456789abcd" }
    for name in names { try queue.put(name) }
    let bodies = names.map { StagedBody(kind: .file, length: 10, place: .file(name: $0)) }
    try queue.store.write(durable: true) { writer in
      for (index, body) in bodies.enumerated() {
        try writer.insert(entry(Int64(index + 1), request: descriptor(more: #","file":"/x""#), body: body))
      }
    }
    try queue.store.write(durable: true) { try $0.release(bodies[2], of: 3) }
    try withDatabase(of: queue.directory.queue) {
      try $0.execute("UPDATE entry SET sources = 'x' WHERE number = 2; DELETE FROM entry WHERE number = 3")
    }
    try #expect(queue.sweep().count == OrphanCount())
    #expect(QueueStoreTests.names(in: queue.folder) == names)
  }

  @Test("B304: asked right before each delete: what is staged, or named, while the sweep goes on stays")
  func meanwhile() throws {
    let queue = try Queue()
    // Clocks may be wrong: a body that is staged now looks as old as can be.
    let source = filePath(try queue.directory.write(noise(100_000), to: "source"))
    #expect(queue.store.sweepOrphans(limit: 0) == .goesOn)
    let staged = try stage(queue.store, .file(source))
    guard case .file(let name) = staged.body.place else { return }
    try queue.date(name, 1000)
    try #expect(queue.sweep(limit: 1).count == OrphanCount())
    #expect(names(in: queue.folder) == [name])
    queue.store.discard(staged.body)
    #expect(names(in: queue.folder).isEmpty)
  }

  @Test("B304, D37: folders of other databases are left alone and counted, however old")
  func otherFolders() throws {
    let queue = try Queue()
    let other = "\(queue.directory.queue)/bodies-other"
    try FileManager.default.createDirectory(atPath: other, withIntermediateDirectories: false)
    for number in 0..<3 {
      let path = "\(other)/body-0000000\(number)-89ab-4cde-8f01-23456789abcd"
      try Data(noise(100)).write(to: URL(fileURLWithPath: path))
      var times = [timespec(tv_sec: 1000, tv_nsec: 0), timespec(tv_sec: 1000, tv_nsec: 0)]
      utimensat(AT_FDCWD, path, &times, 0)
    }
    symlink("/", "\(queue.directory.queue)/bodies-link")
    try queue.put()
    var count = OrphanCount()
    count.dirs = 1
    count.files = 3
    count.bytes = 300
    count.removedFiles = 1
    count.removedBytes = 10
    try #expect(queue.sweep().count == count)
    #expect(names(in: other).count == 3)
  }

  @Test("B304: a delete that fails, and a folder that cannot be read, are warned of, and the sweep goes on")
  func failures() throws {
    let queue = try Queue()
    try queue.put()
    let other = "\(queue.directory.queue)/bodies-other"
    try FileManager.default.createDirectory(atPath: other, withIntermediateDirectories: false)
    try Data(noise(100)).write(to: URL(fileURLWithPath: "\(other)/x"))
    chmod(queue.directory.queue, 0o755)
    chmod(queue.folder, 0o555)
    chmod(other, 0)
    defer {
      chmod(queue.folder, 0o700)
      chmod(other, 0o700)
    }
    let report = try asNobody { try queue.sweep() }
    #expect(report.count.removedFiles == 0 && report.count.files == 1 && report.count.dirs == 0)
    #expect(
      report.warnings.map(\.message).sorted()
        == [
          "1 orphaned bodies could not be deleted",
          "a directory of bodies could not be read and is not counted",
        ])
    #expect(report.warnings.allSatisfy { $0.error == "Permission denied" })
  }

  @Test("B304: 20,000 bodies are counted in slices", .timeLimit(.minutes(2)))
  func many() throws {
    let memory = FileManager.default.isWritableFile(atPath: "/dev/shm") ? "/dev/shm" : NSTemporaryDirectory()
    let directory = try TemporaryDirectory(in: memory)
    let store = try openStore(directory.queue)
    let folder = try #require(names(in: directory.queue).first { $0.hasPrefix("bodies-") })
    let descriptor = open("\(directory.queue)/\(folder)", O_RDONLY | O_DIRECTORY)
    defer { close(descriptor) }
    for number in 0..<20_000 {
      let digits = String(number)
      let name =
        "body-\(String(repeating: "0", count: 8 - digits.count))\(digits)-0000-4000-8000-000000000000"
      let file = openat(descriptor, name, O_WRONLY | O_CREAT | O_EXCL, 0o600)
      var times = [timespec(tv_sec: 1000, tv_nsec: 0), timespec(tv_sec: 1000, tv_nsec: 0)]
      futimens(file, &times)
      close(file)
    }
    var slices = 0
    var progress = store.sweepOrphans(limit: 256)
    while progress == .goesOn {
      progress = store.sweepOrphans(limit: 256)
      slices += 1
    }
    guard case .done(let report) = progress else { return }
    #expect(report.count.removedFiles == 20_000)
    #expect(slices >= 20_000 / 256)
    #expect(bodyFiles(of: directory.queue).isEmpty)
  }
}

extension OrphanProgress: Equatable {
  static func == (left: OrphanProgress, right: OrphanProgress) -> Bool {
    switch (left, right) {
    case (.goesOn, .goesOn), (.later, .later): true
    case (.done(let left), .done(let right)): left.count == right.count
    case (.goesOn, _), (.later, _), (.done, _): false
    }
  }
}
