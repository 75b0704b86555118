import Dispatch
import Foundation
import Glibc
import QueueModel
import Testing

@testable import HTTPTransport

@Suite("Connections", .timeLimit(.minutes(1)))
struct ConnectionTests {
  @Test("A-CONN-01: an idle connection that the server closed is not used again")
  func idleClosed() async throws {
    let server = RawServer { peer in
      try peer.readRequest()
      try peer.answer("200 OK")
      peer.closeGently()
    }
    let client = try Client()
    for _ in 0..<3 {
      let result = try await client.perform(.post, server.url(), body: .bytes([1]))
      #expect(result.answer?.status == 200)
      #expect(!result.connectionWasReused)
      // The end of the connection lies in the client's socket, so the next attempt is sure to meet it.
      #expect(await server.peers.last?.ended.isSignalled() == true)
    }
    #expect(server.requests.count == 3)
  }

  @Test(
    "A-CONN-02, D18: a request that died on a reused connection is not sent again behind our back",
    arguments: [HTTPMethod.post, .put, .get], [OutgoingBody.none, .bytes([1, 2, 3])])
  func hiddenResend(method: HTTPMethod, body: OutgoingBody) async throws {
    let server = RawServer { peer in
      try peer.readRequest()
      try peer.answer("200 OK")
      try peer.readRequest()
    }
    let client = try Client()
    let first = try await client.perform(method, server.url("/1"), body: body)
    #expect(first.answer?.status == 200)
    #expect(!first.connectionWasReused)
    let second = try await client.perform(method, server.url("/2"), body: body)
    #expect(second.answer == nil)
    #expect(second.failure?.cause == .afterRequestBegan)
    #expect(second.connectionWasReused)
    #expect(second.bytesReceived == 0)
    #expect(server.requests.count == 2)
    let third = try await client.perform(method, server.url("/3"), body: body)
    #expect(third.answer?.status == 200)
    #expect(server.requests.map { $0.line.split(separator: " ")[1] } == ["/1", "/2", "/3"])
  }

  @Test("A-CONN-02, D18: the bytes of an answer are told, so that a broken one does not count as none")
  func brokenAnswerOnReused() async throws {
    let server = RawServer { peer in
      try peer.readRequest()
      try peer.answer("200 OK")
      try peer.readRequest()
      try peer.send("HTTP/1.1 200 OK\r\nContent-Length: 9\r\n")
    }
    let client = try Client()
    _ = try await client.perform(.post, server.url())
    let result = try await client.perform(.post, server.url())
    #expect(result.connectionWasReused)
    #expect(result.answer == nil)
    #expect(result.bytesReceived > 0)
  }

  @Test("A-CONN-03: a connection that ends without an answer is no answer")
  func noAnswer() async throws {
    let server = RawServer { peer in try peer.readRequest() }
    let file = TemporaryFile(pattern(1000))
    let result = try await Client().perform(.put, server.url(), body: file.body(length: 1000))
    #expect(result.answer == nil)
    #expect(result.failure?.cause == .afterRequestBegan)
    #expect(!result.connectionWasReused)
  }

  @Test("A-CONN-04: a failed exchange leaves nothing behind for the next one")
  func afterFailure() async throws {
    let server = RawServer { peer in
      while true {
        let request = try peer.readRequest()
        if request.line.contains("/break") { return }
        try peer.answer("200 OK", body: "whole")
      }
    }
    let client = try Client()
    for path in ["/1", "/break", "/2", "/break", "/3"] {
      let result = try await client.perform(.put, server.url(path), body: .bytes(pattern(100_000)))
      #expect(result.answer?.status == (path == "/break" ? nil : 200))
      #expect(result.requestWentWhole)
    }
    #expect(server.requests.count == 5)
  }

  @Test("D16: a refused connection and an unknown host fail before the request")
  func unreachable() async throws {
    let port = OddPort(.closed)
    let client = try Client()
    let refused = try await client.perform(.post, "http://127.0.0.1:\(port.number)/")
    #expect(refused.failure?.cause == .beforeRequest)
    #expect(!refused.requestWentWhole)
    let unknown = try await client.perform(.post, "http://no-such-host.invalid/")
    #expect(unknown.failure == TransferFailure(.beforeRequest, "the host name cannot be resolved"))
  }

  @Test("D12: a 2xx on one connection serves the next request on the same one")
  func reuse() async throws {
    let server = RawServer(BodyTests.echo)
    let client = try Client()
    let reused = try await [
      client.perform(.post, server.url()), client.perform(.put, server.url(), body: .bytes([1])),
      client.perform(.get, server.url()),
    ].map(\.connectionWasReused)
    #expect(reused == [false, true, true])
    #expect(server.peers.count == 1)
  }

  @Test("D18: attempts at the same time do not disturb each other")
  func concurrent() async throws {
    let server = RawServer { peer in
      while true {
        let request = try peer.readRequest()
        try peer.answer("200 OK", body: String(request.line.split(separator: " ")[1]))
      }
    }
    let client = try Client()
    let attempts = try (0..<40).map { number in
      try client.start(.put, server.url("/\(number)"), body: .bytes(pattern(number * 5000)))
    }
    for (number, attempt) in attempts.enumerated() {
      let result = await client.result(attempt)
      #expect(result.answer.map { String(decoding: $0.body, as: UTF8.self) } == "/\(number)")
      #expect(client.results(attempt).count == 1)
    }
  }
}
