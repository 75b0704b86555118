import Foundation
import Glibc
import JSONText
import QueueModel
import Synchronization
import Testing

@testable import QueueStore

@Suite("Staging")
struct StagingTests {
  @Test("B132: data is the exact text, with a default content type")
  func data() throws {
    let directory = try TemporaryDirectory()
    let store = try openStore(directory.queue)
    let text = #"{ "b":1.10,  "a":[null,"\u0041",1E5] }"#
    let staged = try stage(store, .data(json(text)))
    #expect(staged.rowBytes == Array(text.utf8))
    #expect(staged.body.contentType == "application/json")
    #expect(staged.body.length == Int64(text.utf8.count))
    #expect(Staged(inline: .data(try json(text)))?.body == staged.body)
  }

  @Test("B133: a request without a body stages nothing")
  func noBody() throws {
    let directory = try TemporaryDirectory()
    let store = try openStore(directory.queue)
    try #expect(stage(store, .none).body == .none)
    #expect(Staged(inline: .none)?.body == StagedBody.none)
    #expect(bodyFiles(of: directory.queue).isEmpty)
  }

  @Test(
    "D27, B137, A-BODY-09: a file comes whole, in the row up to 64 KiB, and may be deleted then",
    arguments: [0, 1, 16383, 16384, 16385, 65535, 65536, 65537, 475_020, 3_000_001])
  func file(_ size: Int) throws {
    let directory = try TemporaryDirectory()
    let store = try openStore(directory.queue)
    let content = noise(size)
    let source = try directory.write(content, to: "source")
    let staged = try stage(store, .file(filePath(source)))
    try #expect(bytes(of: source) == content)
    try FileManager.default.removeItem(atPath: source)
    try #expect(bytes(of: staged, in: directory.queue) == content)
    #expect(staged.body.length == Int64(size))
    #expect(staged.body.kind == .file)
    #expect(staged.body.contentType == nil)
    #expect((staged.rowBytes != nil) == (size <= 65536))
    #expect(bodyFiles(of: directory.queue).count == (size <= 65536 ? 0 : 1))
    #expect(staged.body.sources.map(\.size) == [Int64(size)])
  }

  @Test(
    "A-BODY-09: a form holds its files whole, whatever their size, and is as long as announced",
    arguments: [0, 16383, 16384, 16385, 65_536, 475_020])
  func form(_ size: Int) throws {
    let directory = try TemporaryDirectory()
    let store = try openStore(directory.queue)
    let content = noise(size)
    let source = try directory.write(content, to: "source")
    let other = try directory.write([9], to: "other")
    let fields = [formField(filePath(other)), formField(filePath(source))]
    let staged = try stage(store, .form(fields))
    let all = try bytes(of: staged, in: directory.queue)
    #expect(staged.body.length == Int64(all.count))
    let head = try #require(
      Data(all).range(of: Data("filename=\"source\"\r\nContent-Type: t/t\r\n\r\n".utf8)))
    #expect(Array(all[head.upperBound..<head.upperBound + size]) == content)
    #expect(all[(head.upperBound + size)...].starts(with: "\r\n--".utf8))
    #expect(staged.body.sources.map(\.size) == [1, Int64(size)])
  }

  @Test("D27: data beyond 64 KiB is a file")
  func largeData() throws {
    let directory = try TemporaryDirectory()
    let store = try openStore(directory.queue)
    let text = "\"\(String(repeating: "x", count: 65_535))\""
    let data = BodyDescription.data(try json(text))
    #expect(Staged(inline: data) == nil)
    try #expect(bytes(of: stage(store, data), in: directory.queue) == Array(text.utf8))
    #expect(bodyFiles(of: directory.queue).count == 1)
  }

  @Test("D29: a path is taken byte for byte; a link is followed")
  func pathBytes() throws {
    let directory = try TemporaryDirectory()
    let store = try openStore(directory.queue)
    let source = try directory.write([5, 6], to: "plain")
    let raw = Array("\(directory.path)/".utf8) + [0xFF, 0x0A, 0x25]
    #expect(symlink(source, raw.map { CChar(bitPattern: $0) } + [0]) == 0)
    try #expect(stage(store, .file(FilePath(bytes: raw))).rowBytes == [5, 6])
    let form = try stage(store, .form([formField(FilePath(bytes: raw))]))
    #expect(Data(try #require(form.rowBytes)).range(of: Data([0xFF, 0x25, 0x30, 0x41, 0x25])) != nil)
  }

  @Test("D5: size and modification time of each source are noted, in the order of the descriptor")
  func stamps() throws {
    let directory = try TemporaryDirectory()
    let store = try openStore(directory.queue)
    let first = filePath(try directory.write([1, 2], to: "first"))
    let second = filePath(try directory.write([1], to: "second"))
    let gone = filePath("\(directory.path)/gone")
    let fields = [
      formField(first), FormField(name: "s", contentType: "t/t", content: .string("x")), formField(second),
    ]
    let staged = try stage(store, .form(fields))
    #expect(staged.body.sources.map(\.size) == [2, 1])
    #expect(store.stager.stamps(of: .form(fields)) == staged.body.sources)
    #expect(
      store.stager.stamps(of: .form([formField(gone), formField(first)])) == [nil, staged.body.sources[0]])
    #expect(store.stager.stamps(of: .none).isEmpty)
    var times = [timespec(tv_sec: 5, tv_nsec: 6), timespec(tv_sec: 5, tv_nsec: 7)]
    #expect(utimensat(AT_FDCWD, String(decoding: first.bytes, as: UTF8.self), &times, 0) == 0)
    #expect(store.stager.stamps(of: .file(first)).map { $0?.modifiedAt } == [5_000_000_007])
  }

  @Test(
    "D5: a file that changes while it is read is read again, and refused when it does not hold still",
    arguments: [10, 100_000])
  func changing(_ size: Int) throws {
    let directory = try TemporaryDirectory()
    let store = try openStore(directory.queue)
    let source = try directory.write(noise(size), to: "source")
    let changes = Mutex(2)
    var stager = store.stager
    stager.onCopied = {
      let isToChange = changes.withLock { left in
        left -= 1
        return left >= 0
      }
      guard isToChange else { return }
      let file = open(source, O_WRONLY | O_APPEND)
      write(file, "x", 1)
      close(file)
    }
    let random = SeededRandomness(1)
    let staged = try stager.stage(.file(filePath(source)), staging: .copy, randomness: random)
    try #expect(bytes(of: staged, in: directory.queue) == noise(size) + Array("xx".utf8))
    store.discard(staged.body)
    changes.withLock { $0 = 3 }
    let refusal = #expect(throws: StageError.self) {
      try stager.stage(.file(filePath(source)), staging: .copy, randomness: random)
    }
    #expect(refusal == .changed(field: "request.file"))
    #expect(bodyFiles(of: directory.queue).isEmpty)
  }

}
