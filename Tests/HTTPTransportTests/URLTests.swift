import QueueModel
import Testing

@testable import HTTPTransport

@Suite("URLs and request headers", .timeLimit(.minutes(1)))
struct URLTests {
  @Test(
    "A-URL-02, D33: the path goes out byte for byte",
    arguments: ["/a%20b%2Fc+d?x=%7B1%7D", "/a/../b/./c//d?x={1}|[]", "/%C3%A9?q=%E6%97%A5"])
  func path(target: String) async throws {
    let server = RawServer(BodyTests.echo)
    let result = try await Client().perform(.post, server.url(target))
    #expect(result.answer?.status == 201)
    #expect(server.requests.map(\.line) == ["POST \(target) HTTP/1.1"])
  }

  @Test("A-URL-03: a host beyond ASCII goes out in its ASCII form")
  func internationalHost() async throws {
    let server = RawServer(BodyTests.echo)
    let result = try await Client().perform(.post, server.url("/", host: "bücher.localhost"))
    #expect(result.answer?.status == 201)
    #expect(server.requests.first?.values("Host") == ["xn--bcher-kva.localhost:\(server.port)"])
  }

  @Test("A-URL-04: an IPv6 literal keeps its brackets in Host")
  func ipv6() async throws {
    let server = RawServer(ipv6: true, BodyTests.echo)
    let result = try await Client().perform(.post, server.url("/x", host: "[::1]"))
    #expect(result.answer?.status == 201)
    #expect(server.requests.first?.values("Host") == ["[::1]:\(server.port)"])
  }

  @Test("A-URL-04: an IPv6 zone without such an address fails before the request")
  func zone() async throws {
    let server = RawServer(ipv6: true, BodyTests.echo)
    let result = try await Client().perform(.post, server.url("/", host: "[fe80::1%25lo]"))
    #expect(result.answer == nil)
    #expect(result.failure?.cause == .beforeRequest)
  }

  @Test("A-URL-07: an empty header value is sent empty", arguments: ["", " ", "\t"])
  func emptyValue(value: String) async throws {
    let server = RawServer(BodyTests.echo)
    _ = try await Client().perform(.post, server.url(), headers: [("X-Empty", value), ("X-Full", "a;b: c")])
    let request = try #require(server.requests.first)
    #expect(request.values("X-Empty") == [""])
    #expect(request.values("X-Full") == ["a;b: c"])
  }

  @Test("D32: a header value is sent as UTF-8")
  func utf8Value() async throws {
    let server = RawServer(BodyTests.echo)
    _ = try await Client().perform(.post, server.url(), headers: [("X-Name", "Grüße 😀")])
    #expect(server.requests.first?.values("X-Name") == ["Grüße 😀"])
  }

  @Test("D23: nothing is sent that nobody asked for: no Expect, no Accept-Encoding, no User-Agent")
  func defaults() async throws {
    let server = RawServer(BodyTests.echo)
    _ = try await Client().perform(.put, server.url(), body: .bytes(pattern(3_000_000)))
    let names = server.requests.first?.headers.map { $0.name.lowercased() }.sorted()
    #expect(names == ["accept", "content-length", "host"])
  }

  @Test("D23: the caller's Accept-Encoding, Accept and Content-Type go out as given")
  func ownHeaders() async throws {
    let server = RawServer(BodyTests.echo)
    let headers = [("accept-encoding", "br"), ("Accept", "application/json"), ("Content-Type", "image/heic")]
    _ = try await Client().perform(.put, server.url(), headers: headers, body: .bytes([1]))
    let request = try #require(server.requests.first)
    #expect(request.values("Accept-Encoding") == ["br"])
    #expect(request.values("Accept") == ["application/json"])
    #expect(request.values("Content-Type") == ["image/heic"])
  }
}
