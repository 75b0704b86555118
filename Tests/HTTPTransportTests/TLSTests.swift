import Foundation
import QueueModel
import Testing

@testable import HTTPTransport

@Suite("TLS", .enabled(if: CertificateFolder.isAvailable), .timeLimit(.minutes(1)))
struct TLSTests {
  private let folder: CertificateFolder
  private let good: CertificateFolder.Pair

  init() throws {
    folder = try CertificateFolder()
    good = try folder.make("good", subject: "IP:127.0.0.1,DNS:localhost")
  }

  private func settings(caFile: String) -> ConnectionSettings {
    var settings = ConnectionSettings()
    settings.caFile = caFile
    return settings
  }

  private func credentials(_ change: (inout ConnectionSettings.HostCredentials) -> Void) -> ConnectionSettings
  {
    var own = ConnectionSettings.HostCredentials()
    change(&own)
    var settings = settings(caFile: good.certificate)
    settings.hosts["127.0.0.1"] = own
    return settings
  }

  @Test("D24: caFile names the authorities that count")
  func trusted() async throws {
    let server = try TLSServer(good)
    let client = try Client(settings(caFile: good.certificate))
    let result = try await client.perform(.post, server.url("/x"), body: .bytes(Array("body".utf8)))
    #expect(result.answer?.status == 200)
    #expect(result.requestWentWhole)
    #expect(server.received.contains("POST /x HTTP/1.1"))
  }

  private func expectCertificateFailure(
    _ server: TLSServer, _ settings: ConnectionSettings, _ message: String
  ) async throws {
    let result = try await Client(settings).perform(.post, server.url(), headers: [("X-Secret", "s3")])
    #expect(result.answer == nil)
    #expect(result.failure == TransferFailure(.beforeRequest, message))
    #expect(!result.requestWentWhole)
    #expect(!server.received.contains("POST"))
  }

  @Test("A-CONN-08, D24: a self-signed certificate is named, nothing is sent")
  func selfSigned() async throws {
    try await expectCertificateFailure(
      TLSServer(good), ConnectionSettings(), "TLS: certificate is self-signed")
  }

  @Test("A-CONN-08, D24: a certificate for another host is named, nothing is sent")
  func otherName() async throws {
    let pair = try folder.make("other", subject: "DNS:other.test")
    try await expectCertificateFailure(
      TLSServer(pair), settings(caFile: pair.certificate), "TLS: certificate is for another host name")
  }

  @Test("A-CONN-08, D24: an expired certificate is named, nothing is sent")
  func expired() async throws {
    let pair = try folder.make("expired", subject: "IP:127.0.0.1", expired: true)
    try await expectCertificateFailure(
      TLSServer(pair), settings(caFile: pair.certificate), "TLS: certificate has expired")
  }

  @Test("D24: a pinned key must be the server's; any one of several is enough")
  func pins() async throws {
    let pin = try folder.pin(of: good)
    let wrong = "sha256//AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA="
    let server = try TLSServer(good)
    let result = try await Client(credentials { $0.pinnedPublicKeys = [wrong, pin] })
      .perform(.post, server.url())
    #expect(result.answer?.status == 200)
    #expect(server.received.contains("POST"))
    try await expectCertificateFailure(
      TLSServer(good), credentials { $0.pinnedPublicKeys = [wrong] },
      "TLS: certificate: its public key is none of the pinned ones")
  }

  @Test("D24: a client certificate is shown to its host")
  func clientCertificate() async throws {
    let own = try folder.make("own", subject: "DNS:client.test")
    let demand = ["-Verify", "1", "-verify_return_error", "-CAfile", own.certificate]
    let server = try TLSServer(good, arguments: demand)
    let with = credentials {
      $0.certFile = own.certificate
      $0.keyFile = own.key
    }
    let result = try await Client(with).perform(.post, server.url())
    #expect(result.answer?.status == 200)
    let second = try TLSServer(good, arguments: demand)
    let without = try await Client(settings(caFile: good.certificate)).perform(.post, second.url())
    #expect(without.answer == nil)
    #expect(without.failure != nil)
    #expect(!second.received.contains("POST"))
  }

  @Test("D24: a caFile that cannot be read and a client key that does not fit are named")
  func unusableFiles() async throws {
    let server = try TLSServer(good)
    let missing = try await Client(settings(caFile: folder.path + "/missing.pem"))
      .perform(.post, server.url())
    #expect(
      missing.failure
        == TransferFailure(.beforeRequest, "TLS: certificate authorities: the file cannot be read"))
    let other = try folder.make("unrelated", subject: "DNS:x")
    let mixed = credentials {
      $0.certFile = good.certificate
      $0.keyFile = other.key
    }
    let result = try await Client(mixed).perform(.post, server.url())
    #expect(
      result.failure
        == TransferFailure(.beforeRequest, "TLS: client certificate: it or its key cannot be used"))
  }

  @Test("D24: new authorities count for the next attempt, not an old connection")
  func newAuthorities() async throws {
    let server = try TLSServer(good)
    let client = try Client(settings(caFile: good.certificate))
    let first = try await client.perform(.post, server.url())
    #expect(first.answer?.status == 200)
    client.transport.configure(ConnectionSettings())
    let second = try await client.perform(.post, server.url())
    #expect(second.answer == nil)
    #expect(second.failure?.cause == .beforeRequest)
  }

  @Test("A-REDIR-06, D20: a redirect from https to http is refused by name; nothing goes out in clear")
  func downgrade() async throws {
    let plain = RawServer(BodyTests.echo)
    let answer = "HTTP/1.1 307 There\r\nLocation: \(plain.url("/x"))\r\nContent-Length: 0\r\n\r\n"
    let server = try TLSServer(good, answer: answer)
    let result = try await Client(settings(caFile: good.certificate))
      .perform(.post, server.url(), body: .bytes([1]))
    #expect(result.answer?.status == 307)
    #expect(result.failure?.message == "redirect refused: it leads from https to http")
    #expect(plain.peers.isEmpty)
  }

  @Test("D16: a server that speaks no TLS fails before the request")
  func noTLS() async throws {
    let server = RawServer { peer in try peer.send("HTTP/1.1 400 Bad\r\n\r\n") }
    let result = try await Client().perform(.post, "https://127.0.0.1:\(server.port)/")
    #expect(result.failure == TransferFailure(.beforeRequest, "TLS: the handshake failed"))
  }
}
