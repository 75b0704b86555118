import Foundation
import Glibc
import QueueModel
import Testing

@testable import HTTPTransport

@Suite("Staged body files", .timeLimit(.minutes(1)))
struct BodyFileTests {
  private static let unused: RawServer.Script = { peer in
    try peer.readHead()
    peer.readToEnd()
  }

  @Test("A-FILE-02, D30: a file that is too short is told before anything is sent")
  func tooShort() async throws {
    let server = RawServer(BodyFileTests.unused)
    let file = TemporaryFile(pattern(100))
    let result = try await Client().perform(.put, server.url(), body: file.body(offset: 50, length: 51))
    #expect(result.answer == nil)
    #expect(result.failure?.cause == .bodyMissing)
    #expect(!result.requestWentWhole)
    #expect(server.peers.isEmpty)
  }

  @Test("A-FILE-02, D30: a file that shrinks while it is sent ends the attempt, and its connection")
  func shrinks() async throws {
    let length: Int64 = 40_000_000
    let file = TemporaryFile()
    file.truncate(to: length)
    let wasClosed = DispatchSemaphore(value: 0)
    let server = RawServer { peer in
      try peer.readHead()
      file.truncate(to: 1_000_000)
      peer.readToEnd()
      wasClosed.signal()
    }
    let started = Date()
    let client = try Client()
    let result = try await client.perform(.put, server.url(), body: file.body(length: length))
    #expect(result.answer == nil)
    #expect(result.failure?.cause == .bodyMissing)
    #expect(!result.requestWentWhole)
    // Not by stallMs, which is 60 s.
    #expect(Date().timeIntervalSince(started) < 30)
    #expect(await wasClosed.isSignalled())
  }

  @Test("A-FILE-03, D30: a file that is gone is a missing body")
  func gone() async throws {
    let server = RawServer(BodyFileTests.unused)
    let file = TemporaryFile(pattern(10))
    file.remove()
    let result = try await Client().perform(.put, server.url(), body: file.body(length: 10))
    #expect(result.failure?.cause == .bodyMissing)
    #expect(server.peers.isEmpty)
  }

  @Test("D30: a symlink, a folder or a FIFO in the body's place is a missing body, at once")
  func notAFile() async throws {
    let server = RawServer(BodyFileTests.unused)
    let client = try Client()
    let file = TemporaryFile(pattern(10))
    let folder = (file.path as NSString).deletingLastPathComponent
    #expect(symlink(file.path, folder + "/link") == 0)
    #expect(mkfifo(folder + "/fifo", 0o600) == 0)
    for path in [folder + "/link", folder + "/fifo", folder] {
      let result = try await client.perform(
        .put, server.url(), body: .file(path: Array(path.utf8), offset: 0, length: 10))
      #expect(result.failure?.cause == .bodyMissing)
    }
    #expect(server.peers.isEmpty)
  }

  @Test("D30: a file that cannot be opened for another reason is no missing body")
  func unreadable() async throws {
    let server = RawServer(BodyFileTests.unused)
    let path = Array(("/" + String(repeating: "x", count: 300)).utf8)
    let result = try await Client().perform(.put, server.url(), body: .file(path: path, offset: 0, length: 1))
    #expect(result.failure?.cause == .bodyUnreadable)
    #expect(server.peers.isEmpty)
  }

  @Test("D30: a body's descriptor is closed with its attempt")
  func descriptors() async throws {
    let server = RawServer(BodyTests.echo)
    let file = TemporaryFile(pattern(10))
    let client = try Client()
    for _ in 0..<3 {
      _ = try await client.perform(.put, server.url(), body: file.body(length: 10))
    }
    // The next order shows that the loop is past the end of the third.
    _ = try await client.perform(.get, server.url())
    #expect(openPaths().filter { $0 == file.path }.isEmpty)
  }

  private func openPaths() -> [String] {
    let folder = "/proc/self/fd/"
    let names = (try? FileManager.default.contentsOfDirectory(atPath: folder)) ?? []
    return names.compactMap { try? FileManager.default.destinationOfSymbolicLink(atPath: folder + $0) }
  }
}
