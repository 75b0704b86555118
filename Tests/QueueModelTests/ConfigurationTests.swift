import JSONText
import Testing

@testable import QueueModel

@Suite("Configuration")
struct ConfigurationTests {
  private func changed(_ text: String, from old: Configuration = Configuration()) throws -> Configuration {
    try ConfigurationChange(reading: json(text)).applied(to: old)
  }

  private static let everything = #"""
    {"lifetimeMs":5,"retry":{"backoff":{"baseMs":1,"maxMs":2,"jitter":0},"terminalHttp":{"exempt":[410]},
    "transient":[{"status":422}]},"concurrency":{"total":8,"reservedHigh":2,"partsPerEntry":1,"perOrigin":3},
    "timeouts":{"connectMs":1,"stallMs":2,"responseMs":3},
    "tls":{"caFile":"/ca","hosts":{"Example.COM":{"certFile":"/c","keyFile":"/k",
    "pinnedPublicKeys":["sha256//AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA="]}}},
    "proxy":"http://u:p@proxy:3128","http2":true}
    """#

  @Test("D22 to D25: the defaults")
  func defaults() {
    let initial = Configuration()
    #expect(initial.lifetimeMs == 1_209_600_000)
    #expect(initial.retry.backoff == Backoff(baseMs: 1000, maxMs: 7_200_000, jitter: 0.2))
    #expect(initial.retry.exempt == [404])
    #expect(initial.retry.transient.isEmpty)
    #expect(initial.concurrency.total == 4)
    #expect(initial.concurrency.reservedHigh == 1)
    #expect(initial.concurrency.partsPerEntry == 3)
    #expect(initial.concurrency.perOrigin == nil)
    #expect(initial.timeouts.connectMs == 30_000)
    #expect(initial.timeouts.stallMs == 60_000)
    #expect(initial.timeouts.responseMs == 300_000)
    #expect(initial.connection == ConnectionSettings())
  }

  @Test("D43: what is given is set, hosts in lower case")
  func everything() throws {
    let new = try changed(Self.everything)
    #expect(new.lifetimeMs == 5)
    #expect(new.retry.exempt == [410])
    #expect(new.retry.transient == [TransientRule(status: 422)])
    #expect(new.concurrency.total == 8)
    #expect(new.concurrency.perOrigin == 3)
    #expect(new.timeouts.responseMs == 3)
    #expect(new.connection.caFile == "/ca")
    #expect(new.connection.hosts["example.com"]?.pinnedPublicKeys.count == 1)
    #expect(new.connection.proxy == "http://u:p@proxy:3128")
    #expect(new.connection.http2)
  }

  @Test("D43: absent members stay")
  func absent() throws {
    let old = try changed(Self.everything)
    #expect(try changed("{}", from: old) == old)
    var expected = old
    expected.lifetimeMs = 9
    #expect(try changed(#"{"lifetimeMs":9}"#, from: old) == expected)
  }

  @Test(
    "D43: null returns one member to its default",
    arguments: ["lifetimeMs", "retry", "concurrency", "timeouts", "tls", "proxy", "http2"])
  func null(name: String) throws {
    let old = try changed(Self.everything)
    let new = try changed(#"{"\#(name)":null}"#, from: old)
    let initial = Configuration()
    #expect(new.lifetimeMs == (name == "lifetimeMs" ? initial.lifetimeMs : old.lifetimeMs))
    #expect(new.retry == (name == "retry" ? initial.retry : old.retry))
    #expect(new.concurrency == (name == "concurrency" ? initial.concurrency : old.concurrency))
    #expect(new.timeouts == (name == "timeouts" ? initial.timeouts : old.timeouts))
    #expect(new.connection.caFile == (name == "tls" ? nil : old.connection.caFile))
    #expect(new.connection.hosts == (name == "tls" ? [:] : old.connection.hosts))
    #expect(new.connection.proxy == (name == "proxy" ? nil : old.connection.proxy))
    #expect(new.connection.http2 == (name != "http2"))
  }

  @Test("D43: a member given is replaced as a whole")
  func whole() throws {
    let old = try changed(Self.everything)
    let new = try changed(#"{"retry":{"terminalHttp":{"exempt":[]}},"tls":{}}"#, from: old)
    #expect(new.retry.exempt.isEmpty)
    #expect(new.retry.backoff == Backoff())
    #expect(new.retry.transient.isEmpty)
    #expect(new.connection.caFile == nil)
    #expect(new.connection.hosts.isEmpty)
    #expect(new.connection.http2)
  }

  @Test(
    "D43, B86: what is refused, by its path",
    arguments: [
      ("[]", ""), (#"{"lifetime":1}"#, "lifetime"), (#"{"android":{}}"#, "android"),
      (#"{"lifetimeMs":0}"#, "lifetimeMs"),
      (#"{"lifetimeMs":1.5}"#, "lifetimeMs"), (#"{"timeouts":{"connectMs":1}}"#, "timeouts.stallMs"),
      (#"{"timeouts":{"connectMs":1,"stallMs":1,"responseMs":0}}"#, "timeouts.responseMs"),
      (#"{"concurrency":{"total":4}}"#, "concurrency.reservedHigh"),
      (#"{"concurrency":{"total":4,"reservedHigh":4,"partsPerEntry":1}}"#, "concurrency.reservedHigh"),
      (#"{"concurrency":{"total":0,"reservedHigh":0,"partsPerEntry":1}}"#, "concurrency.total"),
      (#"{"concurrency":{"total":1025,"reservedHigh":0,"partsPerEntry":1}}"#, "concurrency.total"),
      (#"{"concurrency":{"total":4,"reservedHigh":1}}"#, "concurrency.partsPerEntry"),
      (
        #"{"concurrency":{"total":4,"reservedHigh":1,"partsPerEntry":1,"perOrigin":0}}"#,
        "concurrency.perOrigin"
      ),
      (#"{"retry":{"backoff":{"baseMs":1}}}"#, "retry.backoff.maxMs"), (#"{"http2":1}"#, "http2"),
      (#"{"proxy":1}"#, "proxy"), (#"{"proxy":"proxy:3128"}"#, "proxy"), (#"{"proxy":"http://"}"#, "proxy"),
      (#"{"proxy":"ftp://h"}"#, "proxy"), (#"{"proxy":"http://h\n"}"#, "proxy"), (#"{"tls":[]}"#, "tls"),
      (#"{"tls":{"caFile":"ca.pem"}}"#, "tls.caFile"), (#"{"tls":{"verify":false}}"#, "tls.verify"),
      (#"{"tls":{"hosts":[]}}"#, "tls.hosts"), (#"{"tls":{"hosts":{"h":1}}}"#, "tls.hosts.h"),
      (#"{"tls":{"hosts":{"h:443":{}}}}"#, "tls.hosts.h:443"),
      (#"{"tls":{"hosts":{"h":{},"H":{}}}}"#, "tls.hosts.H"),
      (#"{"tls":{"hosts":{"h":{"pinnedPublicKeys":["sha256//AAA="]}}}}"#, "tls.hosts.h.pinnedPublicKeys[0]"),
      (#"{"tls":{"hosts":{"h":{"keyFile":"k"}}}}"#, "tls.hosts.h.keyFile"),
    ])
  func refused(text: String, path: String) throws {
    #expect(try refusedPath { _ = try ConfigurationChange(reading: json(text)) } == path)
  }

  @Test(
    "D23: an empty proxy uses none; SOCKS works", arguments: ["", "socks5h://127.0.0.1:1080", "https://h"])
  func proxies(text: String) throws {
    #expect(try changed(#"{"proxy":"\#(text)"}"#).connection.proxy == text)
  }

  @Test("B159: what is stored reads back the same")
  func roundTrip() throws {
    for text in ["{}", Self.everything, #"{"proxy":""}"#] {
      let configuration = try changed(text)
      #expect(try Configuration(stored: JSON(checking: configuration.storedText)) == configuration)
    }
  }

  @Test("B147: stored members that are missing or unreadable take their default, the others stay")
  func tolerant() throws {
    let stored = try Configuration(
      stored: json(#"{"http2":true,"retry":{"backoff":1},"concurrency":{"total":2},"later":{}}"#))
    var expected = Configuration()
    expected.connection.http2 = true
    #expect(stored == expected)
    #expect(try Configuration(stored: json("[]")) == Configuration())
  }
}
