import QueueModel
import Testing

@Suite("URLs of requests")
struct RequestURLTests {
  @Test(
    "D33: a URL that can be sent, and its origin",
    arguments: [
      ("http://h/", "http://h/", "http://h:80"),
      ("https://h", "https://h", "https://h:443"),
      ("HTTP://Example.COM/Path", "http://example.com/Path", "http://example.com:80"),
      ("https://h:8443/x?y#z", "https://h:8443/x?y#z", "https://h:8443"),
      ("http://h:/x", "http://h/x", "http://h:80"),
      ("http://h?x=1", "http://h?x=1", "http://h:80"),
      ("http://h:080/", "http://h:80/", "http://h:80"),
      ("http://127.0.0.1:1/x", "http://127.0.0.1:1/x", "http://127.0.0.1:1"),
      ("http://my_host.local./", "http://my_host.local./", "http://my_host.local.:80"),
      ("http://h/a/../b?x={1}|[]\"", "http://h/a/../b?x={1}|[]\"", "http://h:80"),
      ("http://h/100%", "http://h/100%", "http://h:80"),
      ("http://h/@user", "http://h/@user", "http://h:80"),
    ])
  func accepted(text: String, sent: String, origin: String) throws {
    let url = try RequestURL(reading: text, path: "request.url")
    #expect(url.text == sent)
    #expect(url.origin.text == origin)
  }

  @Test(
    "A-URL-02, D33: existing escapes stay, non-ASCII is encoded once",
    arguments: [
      ("http://h/a%20b%2Fc+d?x=%7B1%7D", "http://h/a%20b%2Fc+d?x=%7B1%7D"),
      ("http://h/é?q=日本", "http://h/%C3%A9?q=%E6%97%A5%E6%9C%AC"),
      ("http://h/%C3%A9é", "http://h/%C3%A9%C3%A9"),
    ])
  func escapes(text: String, sent: String) throws {
    let url = try RequestURL(reading: text, path: "request.url")
    #expect(url.text == sent)
    #expect(try RequestURL(reading: url.text, path: "request.url") == url)
  }

  @Test(
    "A-URL-03, D33: a host beyond ASCII becomes its ASCII form whatever the locale",
    arguments: [
      ("http://bücher.localhost:1/", "http://xn--bcher-kva.localhost:1"),
      ("http://BÜCHER.localhost/", "http://xn--bcher-kva.localhost:80"),
      ("http://xn--bcher-kva.localhost/", "http://xn--bcher-kva.localhost:80"),
      ("http://例え。テスト/", "http://xn--r8jz45g.xn--zckzah:80"),
      ("http://faß.de/", "http://xn--fa-hia.de:80"),
      ("http://пример.испытание/", "http://xn--e1afmkfd.xn--80akhbyknj4f:80"),
      ("http://\u{212A}elvin/", "http://kelvin:80"),
    ])
  func internationalHost(text: String, origin: String) throws {
    #expect(try RequestURL(reading: text, path: "request.url").origin.text == origin)
  }

  @Test(
    "D33: a host that Unicode would turn into another one is refused",
    arguments: ["bu\u{308}cher", "ｈｏｓｔ", "ℌost", "a\u{200D}b", "☃", "a b", "h%41", "h!", "İ"])
  func ambiguousHost(host: String) throws {
    #expect(try refusedPath { _ = try RequestURL(reading: "http://\(host)/", path: "u") } == "u")
  }

  @Test(
    "A-URL-04: IPv6 literals, also with a zone",
    arguments: [
      "[::1]", "[::]", "[fe80::1%25lo]", "[fe80::1%lo]", "[2001:db8:0:0:1:0:0:1]", "[1::]",
      "[::ffff:1.2.3.4]",
      "[1:2:3:4:5:6:7::]", "[1:2:3:4:5:6:1.2.3.4]",
    ])
  func ipv6(host: String) throws {
    #expect(try RequestURL(reading: "http://\(host):81/x", path: "u").origin.text == "http://\(host):81")
    #expect(try RequestURL(reading: "http://\(host)/x", path: "u").text == "http://\(host)/x")
  }

  @Test(
    "A-URL-04: what is no IPv6 address is refused",
    arguments: [
      "[]", "[:]", "[:::]", "[1]", "[1:2:3:4:5:6:7]", "[1:2:3:4:5:6:7:8:9]", "[1::2::3]", "[12345::]",
      "[g::]",
      "[1.2.3.4::]", "[::1.2.3]", "[::1.2.3.256]", "[::1.2.3.04]", "[fe80::1%25]", "[fe80::1%25a b]", "[::1",
      "[::1]x",
      "[1:2:3:4:5:6:7:8::]", "[v1.a]",
    ])
  func noIPv6(host: String) throws {
    #expect(try refusedPath { _ = try RequestURL(reading: "http://\(host)/", path: "u") } == "u")
  }

  @Test(
    "A-URL-01, A-URL-05, D33: what cannot be sent is refused",
    arguments: [
      "", "h", "/x", "127.0.0.1:1/x", "http:/h", "http:h", "http://", "http:///x", "http://:80/",
      "ftp://127.0.0.1/",
      "file:///etc/passwd", "httpx://h/", " http://h/", "http://h/ ", "http://h/a b", "http://h/a\tb",
      "http://h/a\nb",
      "http://h/\u{0}", "http://h/\u{7F}", "http://h/\u{85}", "http://user@h/", "http://user:secret@h/",
      "http://@h/",
      "http://h:99999/", "http://h:0/", "http://h:x/", "http://h:-1/", "http://h: 80/", "http://h..x/",
      "http://.h/",
      "http://h\\x/",
    ])
  func refused(text: String) throws {
    let input = try #require(try refusal { _ = try RequestURL(reading: text, path: "request.url") })
    #expect(input.path == "request.url")
    #expect(!input.message.contains("secret"))
  }

  @Test("D33: a URL that no request head can hold is refused at once")
  func tooLong() throws {
    let path = String(repeating: "a", count: 300_000)
    #expect(try refusedPath { _ = try RequestURL(reading: "http://h/\(path)", path: "u") } == "u")
    let label = String(repeating: "a", count: 64)
    #expect(try refusedPath { _ = try RequestURL(reading: "http://\(label)/", path: "u") } == "u")
    let umlauts = String(repeating: "ü", count: 60)
    #expect(try refusedPath { _ = try RequestURL(reading: "http://\(umlauts)/", path: "u") } == "u")
    let name = Array(repeating: String(repeating: "a", count: 50), count: 6).joined(separator: ".")
    #expect(try refusedPath { _ = try RequestURL(reading: "http://\(name)/", path: "u") } == "u")
  }
}
