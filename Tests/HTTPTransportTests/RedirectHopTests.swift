import Dispatch
import QueueModel
import Testing

@testable import HTTPTransport

@Suite("Redirects within one attempt", .timeLimit(.minutes(1)))
struct RedirectHopTests {
  /// Sends everything to `/done`, whose answer is 200.
  private static func redirecting(_ status: Int, to location: String = "/done") -> RawServer.Script {
    { peer in
      while true {
        let request = try peer.readRequest()
        if request.line.contains(" /done ") {
          try peer.answer("200 OK", body: "done")
        } else {
          try peer.answer("\(status) Elsewhere", ["Location: \(location)"], body: "moved")
        }
      }
    }
  }

  private static let big = pattern(1_000_000)

  @Test(
    "A-REDIR-01: 307 and 308 repeat method, headers and body", arguments: [307, 308], [HTTPMethod.post, .put])
  func repeated(status: Int, method: HTTPMethod) async throws {
    let server = RawServer(RedirectHopTests.redirecting(status))
    let file = TemporaryFile(RedirectHopTests.big)
    let client = try Client()
    let attempt = try client.start(
      method, server.url("/from"), headers: [("X-Request-Id", "r1"), ("Authorization", "secret")],
      body: file.body(length: 1_000_000))
    let result = await client.result(attempt)
    #expect(
      server.requests.map(\.line) == [
        "\(method.rawValue) /from HTTP/1.1", "\(method.rawValue) /done HTTP/1.1",
      ])
    #expect(server.requests.map(\.body) == [RedirectHopTests.big, RedirectHopTests.big])
    #expect(server.requests.flatMap { $0.values("Authorization") } == ["secret", "secret"])
    #expect(server.requests.flatMap { $0.values("X-Request-Id") } == ["r1", "r1"])
    #expect(server.peers.count == 1)
    #expect(result.answer?.status == 200)
    #expect(result.failure == nil)
    #expect(result.requestWentWhole)
    #expect(result.bytesSent == 1_000_000)
    #expect(client.results(attempt).count == 1)
    #expect(client.progress(attempt).allSatisfy { $0 <= 1_000_000 })
  }

  @Test("A-REDIR-02: 303 becomes a GET without body", arguments: [HTTPMethod.post, .put, .patch, .delete])
  func seeOther(method: HTTPMethod) async throws {
    let server = RawServer(RedirectHopTests.redirecting(303))
    let result = try await Client().perform(
      method, server.url("/from"), headers: [("Content-Type", "text/plain")], body: .bytes([1, 2, 3]))
    let last = try #require(server.requests.last)
    #expect(last.line == "GET /done HTTP/1.1")
    #expect(last.values("Content-Length").isEmpty)
    #expect(last.values("Content-Type").isEmpty)
    #expect(last.body.isEmpty)
    #expect(result.answer?.status == 200)
    #expect(result.requestWentWhole)
    #expect(result.bytesSent == 3)
  }

  @Test(
    "A-REDIR-02: 301 and 302 of a POST or PATCH are the answer", arguments: [301, 302],
    [HTTPMethod.post, .patch])
  func unfollowed(status: Int, method: HTTPMethod) async throws {
    let server = RawServer(RedirectHopTests.redirecting(status))
    let result = try await Client().perform(method, server.url("/from"), body: .bytes([1]))
    #expect(server.requests.count == 1)
    #expect(result.answer?.status == status)
    #expect(result.answer?.header("location") == "/done")
    #expect(result.answer?.completeness == .whole)
  }

  @Test("A-REDIR-02: 301 and 302 of a PUT repeat it with its body", arguments: [301, 302])
  func movedPut(status: Int) async throws {
    let server = RawServer(RedirectHopTests.redirecting(status))
    let result = try await Client().perform(.put, server.url("/from"), body: .bytes([1, 2]))
    #expect(server.requests.map(\.body) == [[1, 2], [1, 2]])
    #expect(result.answer?.status == 200)
  }

  @Test("A-REDIR-02: a redirect after a 303 does not bring the body back")
  func redirectAfterSeeOther() async throws {
    let server = RawServer { peer in
      while true {
        switch try peer.readRequest().line {
        case let line where line.contains(" /from "): try peer.answer("303 See", ["Location: /mid"])
        case let line where line.contains(" /mid "): try peer.answer("307 There", ["Location: /done"])
        default: try peer.answer("200 OK")
        }
      }
    }
    let result = try await Client().perform(.post, server.url("/from"), body: .bytes([1, 2]))
    #expect(server.requests.map(\.line).last == "GET /done HTTP/1.1")
    #expect(server.requests.map(\.body) == [[1, 2], [], []])
    #expect(result.answer?.status == 200)
  }

  @Test("A-REDIR-03: a body that is gone at the next hop is a missing body")
  func bodyLost() async throws {
    let file = TemporaryFile(pattern(100))
    let server = RawServer { peer in
      try peer.readRequest()
      file.remove()
      try peer.answer("308 There", ["Location: /done"])
      try peer.readRequest()
      try peer.answer("200 OK")
    }
    let result = try await Client().perform(.put, server.url("/from"), body: file.body(length: 100))
    #expect(result.answer == nil)
    #expect(result.failure?.cause == .bodyMissing)
    #expect(server.requests.count == 1)
  }

  @Test("A-REDIR-04: another origin gets none of the secrets", arguments: ["127.0.0.1", "localhost"])
  func otherOrigin(host: String) async throws {
    let second = RawServer(BodyTests.echo)
    let first = RawServer(RedirectHopTests.redirecting(307, to: second.url("/x", host: host)))
    let headers = [
      ("Authorization", "a"), ("Cookie", "b"), ("X-Api-Key", "c"), ("Content-Type", "text/x"),
      ("X-Request-Id", "d"), ("Idempotency-Key", "e"), ("Accept", "text/y"),
    ]
    let result = try await Client().perform(.post, first.url("/from"), headers: headers, body: .bytes([7]))
    let request = try #require(second.requests.first)
    #expect(result.answer?.status == 201)
    #expect(request.body == [7])
    let names = Set(request.headers.map { $0.name.lowercased() })
    #expect(names == ["host", "accept", "content-type", "content-length", "x-request-id", "idempotency-key"])
  }

  @Test("A-REDIR-05: at most 10 redirects; the 11th is the answer")
  func endless() async throws {
    let server = RawServer(RedirectHopTests.redirecting(307, to: "/again"))
    let result = try await Client().perform(.post, server.url("/again"), body: .bytes([1]))
    #expect(server.requests.count == 11)
    #expect(result.answer?.status == 307)
  }

  @Test(
    "A-REDIR-06: a redirect to another scheme is refused by name",
    arguments: ["file:///etc/passwd", "ftp://127.0.0.1/x", "data:,x"])
  func otherScheme(location: String) async throws {
    let server = RawServer(RedirectHopTests.redirecting(302, to: location))
    let result = try await Client().perform(.get, server.url("/from"))
    #expect(result.answer?.status == 302)
    #expect(result.failure?.message.contains("redirect refused") == true)
    #expect(server.requests.count == 1)
  }

  @Test("D20: a next hop that cannot be reached is no failure before the request")
  func unreachable() async throws {
    let port = OddPort(.closed)
    let server = RawServer(RedirectHopTests.redirecting(307, to: "http://127.0.0.1:\(port.number)/"))
    let result = try await Client().perform(.put, server.url("/from"), body: .bytes([1]))
    #expect(result.answer == nil)
    #expect(result.failure?.cause == .afterRequestBegan)
  }
}
