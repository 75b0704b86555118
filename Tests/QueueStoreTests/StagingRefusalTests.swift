import Foundation
import Glibc
import QueueModel
import Testing

@testable import QueueStore

@Suite("What cannot be staged")
struct StagingRefusalTests {
  @Test(
    "A-FILE-04: a directory, a FIFO, a device and a socket are refused at once, by field, and leave nothing",
    .timeLimit(.minutes(1)), arguments: ["directory", "fifo", "socket", "/dev/zero", "/dev/null", "link"])
  func special(_ name: String) throws {
    let directory = try TemporaryDirectory()
    let store = try openStore(directory.queue)
    let source = name.hasPrefix("/") ? name : "\(directory.path)/\(name)"
    switch name {
    case "directory":
      try FileManager.default.createDirectory(atPath: source, withIntermediateDirectories: false)
    case "fifo": #expect(mkfifo(source, 0o600) == 0)
    case "link": #expect(symlink("/dev/zero", source) == 0)
    case "socket": try makeSocket(source)
    default: break
    }
    let began = ContinuousClock.now
    let refusal = #expect(throws: StageError.self) { try stage(store, .file(filePath(source))) }
    #expect(refusal == .notRegular(field: "request.file"))
    let form = #expect(throws: StageError.self) { try stage(store, .form([formField(filePath(source))])) }
    #expect(form == .notRegular(field: "request.form[0].path"))
    #expect(ContinuousClock.now - began < .seconds(5))
    #expect(bodyFiles(of: directory.queue).isEmpty)
    #expect(store.stager.stamps(of: .file(filePath(source))) == [nil])
  }

  private func makeSocket(_ path: String) throws {
    let descriptor = socket(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0)
    defer { close(descriptor) }
    var address = sockaddr_un()
    address.sun_family = sa_family_t(AF_UNIX)
    withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: path.utf8.prefix(107)) }
    let result = withUnsafePointer(to: &address) {
      $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        bind(descriptor, $0, socklen_t(MemoryLayout<sockaddr_un>.size))
      }
    }
    try #require(result == 0)
  }

  @Test(
    "A-FILE-05, B136: a missing source is refused by field, before anything is written",
    arguments: ["gone", "file/below", "\(String(repeating: "n", count: 300))", "dangling"])
  func missing(_ name: String) throws {
    let directory = try TemporaryDirectory()
    let store = try openStore(directory.queue)
    let large = try directory.write(noise(100_000), to: "file")
    symlink("nowhere", "\(directory.path)/dangling")
    let source = filePath("\(directory.path)/\(name)")
    let refusal = #expect(throws: StageError.self) { try stage(store, .file(source)) }
    #expect(refusal == .missing(field: "request.file"))
    let before = try modificationTime(of: directory.queue)
    let form = #expect(throws: StageError.self) {
      try stage(store, .form([formField(filePath(large)), formField(source)]))
    }
    #expect(form == .missing(field: "request.form[1].path"))
    try #expect(modificationTime(of: directory.queue) == before)
  }

  /// Of the folder of bodies: any name made in it moves it.
  private func modificationTime(of queue: String) throws -> Int64 {
    let folder = try #require(names(in: queue).first { $0.hasPrefix("bodies-") })
    var status = stat()
    #expect(stat("\(queue)/\(folder)", &status) == 0)
    return SourceStamp(status).modifiedAt
  }

  @Test("A-FILE-05: a file that may not be read is refused by field")
  func unreadable() throws {
    let directory = try TemporaryDirectory()
    let store = try openStore(directory.queue)
    let source = try directory.write([1], to: "source")
    chmod(source, 0)
    let refusal = #expect(throws: StageError.self) {
      try asNobody { try stage(store, .file(filePath(source))) }
    }
    #expect(refusal == .unreadable(field: "request.file"))
  }

  @Test("D29: a path inside the queue's own directory is refused, through a link too; one beside it is not")
  func insideDirectory() throws {
    let directory = try TemporaryDirectory()
    let store = try openStore(directory.queue)
    symlink("\(directory.queue)/queue.db", "\(directory.path)/link")
    for source in [
      "\(directory.queue)/queue.db", "\(directory.path)/link", "\(directory.path)/./queue/../queue/queue.db",
    ] {
      let refusal = #expect(throws: StageError.self) { try stage(store, .file(filePath(source))) }
      #expect(refusal == .insideDirectory(field: "request.file"), "\(source)")
    }
    try FileManager.default.createDirectory(
      atPath: "\(directory.path)/queue2", withIntermediateDirectories: false)
    let beside = try directory.write([1], to: "queue2/file")
    try #expect(stage(store, .file(filePath(beside))).rowBytes == [1])
  }
}
