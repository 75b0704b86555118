import QueueModel
import Testing

@testable import HTTPTransport

@Suite("Proxies", .timeLimit(.minutes(1)))
struct ProxyTests {
  private static let refusing: RawServer.Script = { peer in
    while true {
      try peer.readRequest()
      try peer.answer("407 Proxy Authentication Required", ["Proxy-Authenticate: Basic realm=x"])
    }
  }

  private func settings(_ proxy: String) -> ConnectionSettings {
    var settings = ConnectionSettings()
    settings.proxy = proxy
    return settings
  }

  @Test("A-CONN-09, D23: the environment's proxy and its exceptions count")
  func environment() async throws {
    let proxy = TestEnvironment.proxy
    let client = try Client()
    let result = try await client.perform(
      .put, "http://environment.proxied.test/x", headers: [("X-Request-Id", "e1")], body: .bytes([1, 2]))
    #expect(result.answer?.status == 200)
    let request = try #require(proxy.requests.first { $0.values("X-Request-Id") == ["e1"] })
    #expect(request.line == "PUT http://environment.proxied.test/x HTTP/1.1")
    #expect(request.body == [1, 2])
    // 127.0.0.1 is in no_proxy.
    let server = RawServer(BodyTests.echo)
    _ = try await client.perform(.post, server.url(), headers: [("X-Request-Id", "e2")])
    #expect(server.requests.count == 1)
    #expect(!proxy.requests.contains { $0.values("X-Request-Id") == ["e2"] })
  }

  @Test(
    "A-CONN-09, D23: the environment's proxy serves https by a tunnel; its refusal comes before the request")
  func environmentTunnel() async throws {
    let result = try await Client().perform(
      .post, "https://tunnel.proxied.test/x", headers: [("Authorization", "secret")], body: .bytes([1]))
    #expect(result.answer == nil)
    #expect(result.failure == TransferFailure(.beforeRequest, "the proxy refused the tunnel with status 407"))
    #expect(!result.requestWentWhole)
    let request = TestEnvironment.proxy.requests.first {
      $0.line.hasPrefix("CONNECT tunnel.proxied.test:443 ")
    }
    #expect(try #require(request).values("Authorization").isEmpty)
  }

  @Test("D23: a configured proxy overrides the environment and its exceptions; 407 is a plain status")
  func configured() async throws {
    let proxy = RawServer(ProxyTests.refusing)
    let server = RawServer(BodyTests.echo)
    let result = try await Client(settings("http://127.0.0.1:\(proxy.port)"))
      .perform(.post, server.url("/x"), body: .bytes([1]))
    #expect(result.answer?.status == 407)
    #expect(result.failure == nil)
    #expect(proxy.requests.map(\.line) == ["POST \(server.url("/x")) HTTP/1.1"])
    #expect(server.peers.isEmpty)
  }

  @Test("D23: an empty proxy means none")
  func none() async throws {
    let result = try await Client(settings("")).perform(.post, "http://direct.proxied.test/x")
    #expect(result.failure == TransferFailure(.beforeRequest, "the host name cannot be resolved"))
    #expect(!TestEnvironment.proxy.requests.contains { $0.line.contains("direct.proxied.test") })
  }

  @Test("D16: a proxy that cannot be reached fails before the request")
  func unreachable() async throws {
    let port = OddPort(.closed)
    let server = RawServer(BodyTests.echo)
    let result = try await Client(settings("http://127.0.0.1:\(port.number)")).perform(.post, server.url())
    #expect(result.failure?.cause == .beforeRequest)
    #expect(server.peers.isEmpty)
  }
}
