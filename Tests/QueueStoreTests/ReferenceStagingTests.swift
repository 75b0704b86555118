import Foundation
import Glibc
import QueueModel
import Testing

@testable import QueueStore

/// Bodies that stay the caller's own files (D28).
@Suite("Staging by reference")
struct ReferenceStagingTests {
  private func refer(_ store: QueueStore, _ body: BodyDescription) throws(StageError) -> Staged {
    try store.stager.stage(body, staging: .reference, randomness: SeededRandomness(3))
  }

  private func outgoingBytes(_ body: OutgoingBody) throws -> [UInt8] {
    guard case .referenced(let pieces) = body else { return [] }
    return try pieces.flatMap { piece in
      switch piece {
      case .bytes(let bytes): bytes
      case .file(let path, _, _): try bytes(of: String(decoding: path, as: UTF8.self))
      }
    }
  }

  @Test(
    "D28: nothing is written, whatever the size; size, time and inode are noted", arguments: [0, 10, 100_000])
  func file(_ size: Int) throws {
    let directory = try TemporaryDirectory()
    let store = try openStore(directory.queue)
    let source = try directory.write(noise(size), to: "source")
    let body = try refer(store, .file(filePath(source))).body
    #expect(body.place == .reference && body.length == Int64(size) && body.contentType == nil)
    #expect(bodyFiles(of: directory.queue).isEmpty)
    var status = stat()
    #expect(stat(source, &status) == 0)
    #expect(body.sources == [SourceStamp(status)])
    #expect(body.sources.first?.inode == Int64(status.st_ino))
  }

  @Test(
    "D28: the row remembers it; the attempt gets path and stamp; letting go deletes nothing"
  )
  func life() throws {
    let directory = try TemporaryDirectory()
    let store = try openStore(directory.queue)
    let source = try directory.write(noise(100_000), to: "a b%25\u{1}")
    let staged = try refer(store, .file(filePath(source)))
    let owner = try entry(
      1,
      request: descriptor(
        more: #","file":"\#(source.replacing("\u{1}", with: "\\u0001"))","staging":"reference""#),
      body: staged.body)
    try store.write(durable: true) { try $0.insert(owner) }
    let next = try openStore(directory.queue)
    let read = try #require(try next.reader.entry(number: 1))
    #expect(picture(read) == picture(owner))
    guard case .referenced(let pieces) = try next.reader.outgoing(read), pieces.count == 1,
      case .file(let path, let stamp, range: let range) = pieces[0]
    else {
      Issue.record("not one file")
      return
    }
    #expect(path == Array(source.utf8) && stamp == staged.body.sources[0] && range == 0..<stamp.size)
    store.discard(staged.body)
    try next.write(durable: true) { try $0.delete(read) }
    next.rest(idle: true)
    try #expect(bytes(of: source) == noise(100_000))
  }

  @Test("D28: a form sends what its copy would hold, also after a restart")
  func form() throws {
    let directory = try TemporaryDirectory()
    let store = try openStore(directory.queue)
    let one = try directory.write(noise(70_000), to: "one")
    let two = try directory.write([], to: "two")
    let text =
      #","form":[{"name":"n\"","contentType":"a/b","path":"\#(one)","fileName":"x"},"#
      + #"{"name":"s","contentType":"t/t","string":"é"},{"name":"m","contentType":"c/d","path":"\#(two)"}]"#
    let request = try descriptor(more: text + #","staging":"reference""#)
    let staged = try refer(store, request.body)
    let copy = try store.stager.stage(request.body, staging: .copy, randomness: SeededRandomness(3))
    #expect(staged.body.contentType == copy.body.contentType)
    #expect(staged.body.length == copy.body.length)
    try store.write(durable: true) { try $0.insert(entry(1, request: request, body: staged.body)) }
    let next = try openStore(directory.queue)
    let read = try #require(try next.reader.entry(number: 1))
    let outgoing = try next.reader.outgoing(read)
    #expect(outgoing.length == copy.body.length)
    try #expect(outgoingBytes(outgoing) == bytes(of: copy, in: directory.queue))
  }

  @Test("D28: a form of strings alone has no file to refer to and is kept by us")
  func strings() throws {
    let directory = try TemporaryDirectory()
    let store = try openStore(directory.queue)
    let field = FormField(name: "s", contentType: "t/t", content: .string("x"))
    try #expect(refer(store, .form([field])).body.place == .row)
    try #expect(refer(store, .data(json("1"))).body.place == .row)
    try #expect(refer(store, .none).body == .none)
  }

  @Test("D28, D29: what is no regular file, is missing or lies in the directory is refused as for a copy")
  func refusals() throws {
    let directory = try TemporaryDirectory()
    let store = try openStore(directory.queue)
    for (path, error) in [
      (directory.path, StageError.notRegular(field: "request.file")),
      ("\(directory.path)/gone", .missing(field: "request.file")),
      ("\(directory.queue)/queue.db", .insideDirectory(field: "request.file")),
      ("/proc/self/status", .sizeless(field: "request.file")),
    ] {
      let refusal = #expect(throws: StageError.self) { try refer(store, .file(filePath(path))) }
      #expect(refusal == error, "\(path)")
    }
  }

  @Test("D28: a symbolic link is followed")
  func link() throws {
    let directory = try TemporaryDirectory()
    let store = try openStore(directory.queue)
    let source = try directory.write([1, 2, 3], to: "source")
    let link = "\(directory.path)/link"
    symlink(source, link)
    let linked = try refer(store, .file(filePath(link))).body
    try #expect(linked == refer(store, .file(filePath(source))).body)
  }
}
