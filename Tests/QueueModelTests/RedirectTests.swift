import Testing

@testable import QueueModel

@Suite("Redirects")
struct RedirectTests {
  private func url(_ text: String) throws -> RequestURL {
    try RequestURL(reading: text, path: "url")
  }

  private func next(
    _ status: Int, _ location: String?, _ method: HTTPMethod = .put, from: String = "http://a.test/b/c/d;p?q",
    wentWhole: Bool = true, hop: Int = 0
  ) throws -> Redirect.Step {
    Redirect.next(
      status: status, location: location, method: method, from: try url(from), requestWentWhole: wentWhole,
      hop: hop)
  }

  private func follow(_ text: String, _ method: HTTPMethod, withBody: Bool, crossOrigin: Bool = false) throws
    -> Redirect.Step
  {
    .follow(url: try url(text), method: method, withBody: withBody, crossOrigin: crossOrigin)
  }

  @Test("D20: 307 and 308 keep method and body", arguments: [307, 308], HTTPMethod.allCases)
  func kept(status: Int, method: HTTPMethod) throws {
    for whole in [true, false] {
      let step = try next(status, "/x", method, wentWhole: whole)
      #expect(try step == follow("http://a.test/x", method, withBody: true))
    }
  }

  @Test(
    "D20: 301 and 302 keep GET, PUT and DELETE; of a POST or PATCH they are the answer",
    arguments: [301, 302])
  func moved(status: Int) throws {
    for method in [HTTPMethod.get, .put, .delete] {
      #expect(try next(status, "/x", method) == follow("http://a.test/x", method, withBody: true))
    }
    for method in [HTTPMethod.post, .patch] {
      #expect(try next(status, "/x", method) == .answer)
    }
  }

  @Test(
    "D20: 303 becomes GET, once the whole body went out", arguments: [HTTPMethod.post, .put, .patch, .delete])
  func seeOther(method: HTTPMethod) throws {
    #expect(try next(303, "/x", method) == follow("http://a.test/x", .get, withBody: false))
    #expect(try next(303, "/x", method, wentWhole: false) == .answer)
  }

  @Test(
    "D13: other statuses and a missing Location are the answer",
    arguments: [200, 201, 300, 304, 305, 306, 399, 404])
  func notRedirects(status: Int) throws {
    #expect(try next(status, "/x") == .answer)
    #expect(try next(307, nil) == .answer)
  }

  @Test("D20: ten redirects are followed, the 11th is the answer")
  func limit() throws {
    #expect(try next(307, "/x", hop: 9) == follow("http://a.test/x", .put, withBody: true))
    #expect(try next(307, "/x", hop: 10) == .answer)
  }

  @Test(
    "D20: scheme, host and port make the origin",
    arguments: [
      ("http://a.test:80/x", false), ("http://A.TEST/x", false), ("//a.test/x", false),
      ("http://a.test:81/x", true),
      ("https://a.test/x", true), ("http://b.a.test/x", true), ("//b.test/x", true),
    ])
  func origin(location: String, isOther: Bool) throws {
    guard case .follow(_, _, _, let crossOrigin) = try next(307, location) else {
      Issue.record("\(location) is not followed")
      return
    }
    #expect(crossOrigin == isOther)
  }

  @Test(
    "D20: https to http, other schemes and what is no URL are refused without naming the target",
    arguments: [
      ("https://a.test/", "http://a.test/secret"), ("https://a.test/", "HTTP://b.test/secret"),
      ("http://a.test/", "file:///secret"), ("http://a.test/", "ftp://a.test/secret"),
      ("http://a.test/", "javascript:secret"), ("http://a.test/", "http://user:secret@a.test/"),
      ("http://a.test/", "http:///secret"), ("http://a.test/", "http://a.test/\u{1}secret"),
    ])
  func refused(from: String, location: String) throws {
    guard case .refused(let message) = try next(307, location, from: from) else {
      Issue.record("\(location) is not refused")
      return
    }
    #expect(message.hasPrefix("redirect refused: "))
    #expect(!message.contains("secret"))
  }

  @Test("D20: a step up from http to https is followed")
  func stepUp() throws {
    #expect(
      try next(307, "https://a.test/x") == follow("https://a.test/x", .put, withBody: true, crossOrigin: true)
    )
  }

  @Test("D20: to another origin only four headers go along, in any case")
  func otherOriginHeaders() {
    var headers = HeaderFields()
    let given = [
      "Authorization", "content-type", "Cookie", "ACCEPT", "X-Api-Key", "X-Request-ID", "idempotency-key",
      "Proxy-Authorization", "Accept-Encoding",
    ]
    for name in given { headers.set(name, "v") }
    let kept = Redirect.headersForOtherOrigin(headers)
    #expect(kept.fields.map(\.name) == ["content-type", "ACCEPT", "X-Request-ID", "idempotency-key"])
  }

  /// The examples of RFC 3986, sections 5.4.1 and 5.4.2, that are http.
  private static let references = [
    ("g", "http://a/b/c/g"), ("./g", "http://a/b/c/g"), ("g/", "http://a/b/c/g/"), ("/g", "http://a/g"),
    ("//g", "http://g"), ("?y", "http://a/b/c/d;p?y"), ("g?y", "http://a/b/c/g?y"),
    ("#s", "http://a/b/c/d;p?q"),
    ("g#s", "http://a/b/c/g"), ("g?y#s", "http://a/b/c/g?y"), (";x", "http://a/b/c/;x"),
    ("g;x", "http://a/b/c/g;x"), ("g;x?y#s", "http://a/b/c/g;x?y"), ("", "http://a/b/c/d;p?q"),
    (".", "http://a/b/c/"), ("./", "http://a/b/c/"), ("..", "http://a/b/"), ("../", "http://a/b/"),
    ("../g", "http://a/b/g"), ("../..", "http://a/"), ("../../", "http://a/"), ("../../g", "http://a/g"),
    ("../../../g", "http://a/g"), ("../../../../g", "http://a/g"), ("/./g", "http://a/g"),
    ("/../g", "http://a/g"),
    ("g.", "http://a/b/c/g."), (".g", "http://a/b/c/.g"), ("g..", "http://a/b/c/g.."),
    ("..g", "http://a/b/c/..g"),
    ("./../g", "http://a/b/g"), ("./g/.", "http://a/b/c/g/"), ("g/./h", "http://a/b/c/g/h"),
    ("g/../h", "http://a/b/c/h"), ("g;x=1/./y", "http://a/b/c/g;x=1/y"), ("g;x=1/../y", "http://a/b/c/y"),
    ("g?y/./x", "http://a/b/c/g?y/./x"), ("g?y/../x", "http://a/b/c/g?y/../x"),
  ]

  @Test("D20: a Location is resolved as RFC 3986, section 5.4 shows", arguments: references)
  func resolution(reference: String, target: String) {
    #expect(URLReference.resolve(reference, against: "http://a/b/c/d;p?q") == target)
  }

  @Test("D20: a reference to a URL without a path begins at its root")
  func emptyBasePath() {
    #expect(URLReference.resolve("g", against: "http://a") == "http://a/g")
    #expect(URLReference.resolve("?y", against: "http://a?q") == "http://a?y")
    #expect(URLReference.resolve("a b", against: "http://a/") == "http://a/a%20b")
    #expect(URLReference.resolve("/a//b", against: "http://a/") == "http://a/a//b")
  }
}
