import Dispatch
import Foundation
import Glibc
import QueueModel
import Testing

@testable import HTTPTransport

@Suite("Orders to the transport", .timeLimit(.minutes(1)))
struct OrderTests {
  @Test("A-QUEUE-05: a stop closes the connection at once and reports nothing; others go on")
  func stop() async throws {
    let hasHead = DispatchSemaphore(value: 0)
    let server = RawServer { peer in
      let request = try peer.readHead()
      if request.line.contains("/stopped") {
        hasHead.signal()
        peer.readToEnd()
      } else {
        try peer.readBody(request.contentLength ?? 0)
        try peer.answer("200 OK")
      }
    }
    let client = try Client()
    let stopped = try client.start(.put, server.url("/stopped"), body: .bytes(pattern(8_000_000)))
    #expect(await hasHead.isSignalled())
    let other = try client.start(.put, server.url("/other"), body: .bytes(pattern(3_000_000)))
    client.transport.stop(stopped)
    #expect(await server.peers[0].ended.isSignalled(within: 5))
    #expect(await client.result(other).answer?.status == 200)
    #expect(client.results(stopped).isEmpty)
  }

  @Test("A stop while the name is resolved does not wait for the resolver")
  func stopWhileResolving() async throws {
    let client = try Client()
    let started = Date()
    let attempts = try (0..<3).map { try client.start(.post, "http://slow-\($0).invalid/") }
    for attempt in attempts { client.transport.stop(attempt) }
    client.transport.shutdown()
    #expect(Date().timeIntervalSince(started) < 5)
  }

  @Test("A stop that comes with its start, or twice, or for nothing, is harmless")
  func needlessStops() async throws {
    let server = RawServer(BodyTests.echo)
    let client = try Client()
    let attempt = try client.start(.post, server.url())
    client.transport.stop(attempt)
    client.transport.stop(attempt)
    client.transport.stop(AttemptID(entry: -1, generation: 1, ordinal: 1))
    let result = try await client.perform(.post, server.url())
    #expect(result.answer?.status == 201)
    #expect(client.results(attempt).count <= 1)
  }

  @Test("An attempt that is started twice takes the place of itself")
  func startedTwice() async throws {
    let hasRequest = DispatchSemaphore(value: 0)
    let server = RawServer { peer in
      _ = try peer.readRequest()
      hasRequest.signal()
      if peer.ordinal > 0 { try peer.answer("200 OK") }
      peer.readToEnd()
    }
    let client = try Client()
    let attempt = try client.start(.post, server.url())
    #expect(await hasRequest.isSignalled())
    try client.start(.post, server.url(), attempt: attempt)
    #expect(await client.result(attempt).answer?.status == 200)
    #expect(await server.peers[0].ended.isSignalled())
    #expect(client.results(attempt).count == 1)
  }

  @Test("D24: new settings close idle connections, and those in use with their attempt")
  func configure() async throws {
    let hasRequest = DispatchSemaphore(value: 0)
    let mayAnswer = DispatchSemaphore(value: 0)
    let server = RawServer { peer in
      while true {
        let request = try peer.readRequest()
        if request.line.contains("/held") {
          hasRequest.signal()
          mayAnswer.wait()
        }
        try peer.answer("200 OK")
      }
    }
    let client = try Client()
    let held = try client.start(.post, server.url("/held"))
    #expect(await hasRequest.isSignalled())
    _ = try await client.perform(.post, server.url("/idle"))
    var settings = ConnectionSettings()
    settings.proxy = ""
    client.transport.configure(settings)
    #expect(await server.peers[1].ended.isSignalled())
    mayAnswer.signal()
    #expect(await client.result(held).answer?.status == 200)
    #expect(await server.peers[0].ended.isSignalled())
    let last = try await client.perform(.post, server.url("/new"))
    #expect(last.answer?.status == 200)
    #expect(!last.connectionWasReused)
  }

  @Test("D24: the same settings again leave connections alone")
  func configureSame() async throws {
    let server = RawServer(BodyTests.echo)
    let client = try Client()
    _ = try await client.perform(.post, server.url())
    client.transport.configure(ConnectionSettings())
    let result = try await client.perform(.post, server.url())
    #expect(result.connectionWasReused)
  }

  @Test("A shutdown ends running attempts without a report, closes every connection and may come twice")
  func shutdown() async throws {
    let hasRequest = DispatchSemaphore(value: 0)
    let server = RawServer { peer in
      if try peer.readRequest().line.contains("/held") {
        hasRequest.signal()
      } else {
        try peer.answer("200 OK")
      }
      peer.readToEnd()
    }
    let client = try Client()
    let attempt = try client.start(.post, server.url("/held"))
    #expect(await hasRequest.isSignalled())
    _ = try await client.perform(.post, server.url("/idle"))
    let started = Date()
    client.transport.shutdown()
    client.transport.shutdown()
    #expect(Date().timeIntervalSince(started) < 5)
    for peer in server.peers { #expect(await peer.ended.isSignalled()) }
    #expect(client.results(attempt).isEmpty)
    client.transport.stop(attempt)
  }
}
