import Foundation
import Glibc
import Testing

@testable import HTTPTransport
@testable import QueueModel

/// Bodies in files of the caller's (D28).
@Suite("Referenced files", .timeLimit(.minutes(1)))
struct ReferencedBodyTests {
  enum Change: String, CaseIterable, Sendable {
    case size, time, inode, gone
  }

  /// Changes one thing only.
  private static func change(_ file: TemporaryFile, _ change: Change) {
    var status = stat()
    stat(file.path, &status)
    var times = [status.st_atim, status.st_mtim]
    switch change {
    case .size: truncate(file.path, status.st_size + 1)
    case .time: times[1].tv_nsec ^= 1
    case .inode:
      let other = file.path + ".other"
      try? FileManager.default.copyItem(atPath: file.path, toPath: other)
      rename(other, file.path)
    case .gone: return file.remove()
    }
    utimensat(AT_FDCWD, file.path, &times, 0)
  }

  @Test("D28: files go out from where they are, between the bytes around them, byte for byte")
  func pieces() async throws {
    let server = RawServer(BodyTests.echo)
    let first = TemporaryFile(pattern(3_000_000))
    let empty = TemporaryFile([])
    let second = TemporaryFile(pattern(70_000))
    let body = OutgoingBody.referenced([
      .bytes(Array("head".utf8)), first.piece, .bytes([]), empty.piece, .bytes(Array("-".utf8)),
      second.piece, .bytes(Array("tail".utf8)),
    ])
    #expect(body.length == 3_070_009)
    let client = try Client()
    for _ in 0..<2 {
      let result = try await client.perform(.put, server.url(), body: body)
      #expect(result.failure == nil)
      #expect(result.answer?.status == 201)
      #expect(result.bytesSent == 3_070_009)
    }
    let expected =
      Array("head".utf8) + Array(pattern(3_000_000)) + Array("-".utf8) + Array(pattern(70_000))
      + Array("tail".utf8)
    #expect(server.requests.map(\.body) == [expected, expected])
  }

  @Test(
    "D28: a file that changed before the attempt ends it before anything is sent", arguments: Change.allCases)
  func before(_ change: Change) async throws {
    let server = RawServer(BodyTests.echo)
    let file = TemporaryFile(pattern(1000))
    let body = OutgoingBody.referenced([.bytes([1]), file.piece])
    ReferencedBodyTests.change(file, change)
    let result = try await Client().perform(.put, server.url(), body: body)
    #expect(result.failure?.cause == (change == .gone ? .bodyMissing : .bodyChanged))
    #expect(result.answer == nil && !result.requestWentWhole)
    #expect(server.peers.isEmpty)
  }

  @Test(
    "D28: a file that changed while it was sent spoils the attempt, a 2xx too, and the answer stays",
    arguments: Change.allCases, [200, 503])
  func during(_ change: Change, _ status: Int) async throws {
    let file = TemporaryFile(pattern(1000))
    let server = RawServer { peer in
      _ = try peer.readRequest()
      ReferencedBodyTests.change(file, change)
      try peer.answer("\(status) X", body: "seen")
    }
    let body = OutgoingBody.referenced([file.piece])
    let result = try await Client().perform(.put, server.url(), body: body)
    #expect(result.failure?.cause == (change == .gone ? .bodyMissing : .bodyChanged))
    #expect(result.answer?.status == status)
    #expect(result.answer.map { String(decoding: $0.body, as: UTF8.self) } == "seen")
  }

  @Test("D28: a symbolic link is followed")
  func link() async throws {
    let server = RawServer(BodyTests.echo)
    let file = TemporaryFile(pattern(10))
    let link = file.path + ".link"
    symlink(file.path, link)
    defer { unlink(link) }
    guard case .file(_, let stamp, let range) = file.piece else { return }
    let body = OutgoingBody.referenced([.file(path: Array(link.utf8), stamp, range: range)])
    #expect(try await Client().perform(.put, server.url(), body: body).answer?.status == 201)
    #expect(server.requests.map(\.body) == [Array(pattern(10))])
  }

  @Test("A-FILE-07: a body of many files has one of them open at a time")
  func descriptors() throws {
    let files = (0..<200).map { TemporaryFile(pattern($0)) }
    let source = try BodySource(opening: .referenced(files.map(\.piece)))
    let place = "\(NSTemporaryDirectory())"
    func open() throws -> Int {
      try FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd").filter { name in
        let target = try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/fd/\(name)")
        return files.contains { $0.path == target } && target?.hasPrefix(place) ?? false
      }.count
    }
    var all: [UInt8] = []
    var most = 0
    let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: 64, alignment: 1)
    defer { buffer.deallocate() }
    while let count = source.read(into: buffer), count > 0 {
      all += buffer[..<count]
      if all.count % 1000 < 64 { most = max(most, try open()) }
    }
    #expect(source.failure == nil)
    #expect(all == (0..<200).flatMap { Array(pattern($0)) })
    #expect(most == 1)
  }
}
