import JSONText
import Testing

@testable import QueueModel

@Suite("Descriptors: what is refused")
struct DescriptorRefusalTests {
  struct Case: Sendable, CustomTestStringConvertible {
    var rule: String
    /// The members beside `url`, or the whole descriptor when it begins with a bracket.
    var text: String
    var path: String
    var says: String = ""

    var testDescription: String { "\(rule): \(text)" }
  }

  static let cases: [Case] = [
    Case(rule: "B41", text: "[]", path: "request", says: "object"),
    Case(rule: "B42", text: #""header":{}"#, path: "request.header", says: "did you mean headers?"),
    Case(rule: "B42", text: #""expiryAt":1"#, path: "request.expiryAt", says: "did you mean expiresAt?"),
    Case(rule: "B42", text: #""wifionly":true"#, path: "request.wifionly", says: "did you mean wifiOnly?"),
    Case(rule: "B42", text: #""zzz":1"#, path: "request.zzz", says: "is no member here"),
    Case(rule: "protocol 1", text: #""method":"PUT","method":"PUT""#, path: "request.method", says: "once"),
    Case(rule: "not carried over", text: #""android":{}"#, path: "request.android"),
    Case(rule: "B38", text: "{}", path: "request.url", says: "required"),
    Case(rule: "B38", text: #"{"url":""}"#, path: "request.url"),
    Case(rule: "B119", text: #"{"url":null}"#, path: "request.url"),
    Case(rule: "B119", text: #"{"url":7}"#, path: "request.url"),
    Case(rule: "B120", text: #"{"url":"ftp://h/"}"#, path: "request.url"),
    Case(
      rule: "B39", text: #""method":"TRACE""#, path: "request.method", says: "POST, PUT, PATCH, DELETE, GET"),
    Case(rule: "B39", text: #""method":"post""#, path: "request.method"),
    Case(rule: "B31", text: #""data":1,"file":"/a""#, path: "request", says: "data and file"),
    Case(
      rule: "B121", text: #""form":[{"name":"a","contentType":"b","string":"c"}],"file":"/a""#,
      path: "request",
      says: "form and file"),
    Case(rule: "B31", text: #""data":null,"form":[]"#, path: "request", says: "data and form"),
    Case(rule: "B34", text: #""method":"GET","data":null"#, path: "request.data", says: "GET"),
    Case(rule: "B34", text: #""method":"GET","file":"/a""#, path: "request.file", says: "GET"),
    Case(rule: "B34", text: #""method":"GET","form":[]"#, path: "request.form", says: "GET"),
    Case(rule: "D28", text: #""staging":"link""#, path: "request.staging"),
    Case(rule: "D29", text: #""file":"""#, path: "request.file"),
    Case(rule: "D29", text: #""file":7"#, path: "request.file"),
    Case(rule: "D29", text: #""file":"a/b""#, path: "request.file", says: "absolute"),
    Case(rule: "D29", text: #""file":"/a\u0000b""#, path: "request.file", says: "NUL"),
    Case(rule: "D29", text: #""file":"file:///a%00b""#, path: "request.file", says: "NUL"),
    Case(rule: "D29", text: #""file":"file://other/a""#, path: "request.file"),
    Case(rule: "D29", text: #""file":"file:a""#, path: "request.file"),
    Case(rule: "D29", text: #""file":"file:///a%2""#, path: "request.file"),
    Case(rule: "D29", text: #""file":"file:///a%zz""#, path: "request.file"),
    Case(rule: "D29", text: #""file":"file:///a?b""#, path: "request.file", says: "%3F"),
    Case(rule: "D29", text: #""file":"http://h/a""#, path: "request.file"),
    Case(rule: "B48", text: #""form":[]"#, path: "request.form"),
    Case(rule: "B48", text: #""form":{}"#, path: "request.form"),
    Case(
      rule: "B43", text: #""form":[{"name":"a","contentType":"b","string":"c","x":1}]"#,
      path: "request.form[0].x"),
    Case(
      rule: "B36", text: #""form":[{"name":"a","contentType":"b"}]"#, path: "request.form[0]",
      says: "exactly one"),
    Case(
      rule: "B36", text: #""form":[{"name":"a","contentType":"b","string":"c","path":"/d"}]"#,
      path: "request.form[0]"),
    Case(rule: "B36", text: #""form":[{"contentType":"b","string":"c"}]"#, path: "request.form[0].name"),
    Case(
      rule: "B36", text: #""form":[{"name":"","contentType":"b","string":"c"}]"#, path: "request.form[0].name"
    ),
    Case(rule: "B36", text: #""form":[{"name":"a","string":"c"}]"#, path: "request.form[0].contentType"),
    Case(
      rule: "B36", text: #""form":[{"name":"a","contentType":"b","string":"c"},1]"#, path: "request.form[1]",
      says: "object"),
    Case(
      rule: "A-FORM-03", text: #""form":[{"name":"a","contentType":"image/png\r\n\r\nx","string":"c"}]"#,
      path: "request.form[0].contentType"),
    Case(
      rule: "D29", text: #""form":[{"name":"a","contentType":"b","path":"c"}]"#,
      path: "request.form[0].path"),
    Case(
      rule: "B36", text: #""form":[{"name":"a","contentType":"b","string":"c","fileName":"d"}]"#,
      path: "request.form[0].fileName"),
    Case(
      rule: "A-BODY-07", text: #""headers":{"Content-Length":"999"}"#,
      path: "request.headers.Content-Length"),
    Case(
      rule: "A-BODY-07", text: #""headers":{"transfer-encoding":"chunked"}"#,
      path: "request.headers.transfer-encoding"),
    Case(rule: "B122", text: #""headers":{"X-N":5}"#, path: "request.headers.X-N", says: "string"),
    Case(rule: "B44", text: #""accept":{}"#, path: "request.accept", says: "array"),
    Case(rule: "B44", text: #""accept":[{"status":"409"}]"#, path: "request.accept[0].status"),
    Case(
      rule: "B44", text: #""accept":[{"status":409,"bodyIncludes":1}]"#,
      path: "request.accept[0].bodyIncludes"),
    Case(rule: "B44", text: #""accept":[{}]"#, path: "request.accept[0].status", says: "required"),
    Case(rule: "B44", text: #""accept":[{"status":99}]"#, path: "request.accept[0].status"),
    Case(rule: "B44", text: #""accept":[{"status":600}]"#, path: "request.accept[0].status"),
    Case(rule: "B43", text: #""accept":[{"status":409,"body":"x"}]"#, path: "request.accept[0].body"),
    Case(rule: "B40", text: #""expiresAt":0"#, path: "request.expiresAt"),
    Case(rule: "B40", text: #""expiresAt":-1"#, path: "request.expiresAt"),
    Case(rule: "B40", text: #""expiresAt":1.5"#, path: "request.expiresAt"),
    Case(rule: "B40", text: #""expiresAt":"2027""#, path: "request.expiresAt"),
    Case(rule: "B40", text: #""expiresAt":9007199254740992"#, path: "request.expiresAt"),
    Case(rule: "B40", text: #""expiresAt":1e300"#, path: "request.expiresAt"),
    Case(rule: "B44", text: #""retry":[]"#, path: "request.retry"),
    Case(rule: "B43", text: #""retry":{"maxRetries":1}"#, path: "request.retry.maxRetries"),
    Case(
      rule: "B301", text: #""retry":{"backoff":{"baseMs":1,"maxMs":2}}"#, path: "request.retry.backoff.jitter"
    ),
    Case(
      rule: "B301", text: #""retry":{"backoff":{"maxMs":2,"jitter":0}}"#, path: "request.retry.backoff.baseMs"
    ),
    Case(
      rule: "B301", text: #""retry":{"backoff":{"baseMs":1,"jitter":0}}"#, path: "request.retry.backoff.maxMs"
    ),
    Case(
      rule: "B43", text: #""retry":{"backoff":{"baseMs":1,"maxMs":2,"jitter":0,"factor":2}}"#,
      path: "request.retry.backoff.factor"),
    Case(
      rule: "D15", text: #""retry":{"backoff":{"baseMs":0,"maxMs":2,"jitter":0}}"#,
      path: "request.retry.backoff.baseMs"),
    Case(
      rule: "D15", text: #""retry":{"backoff":{"baseMs":3,"maxMs":2,"jitter":0}}"#,
      path: "request.retry.backoff.maxMs"),
    Case(
      rule: "D15", text: #""retry":{"backoff":{"baseMs":1,"maxMs":2,"jitter":1.1}}"#,
      path: "request.retry.backoff.jitter"),
    Case(
      rule: "D15", text: #""retry":{"backoff":{"baseMs":1,"maxMs":2,"jitter":-0.1}}"#,
      path: "request.retry.backoff.jitter"),
    Case(rule: "B301", text: #""retry":{"terminalHttp":{}}"#, path: "request.retry.terminalHttp.exempt"),
    Case(
      rule: "B43", text: #""retry":{"terminalHttp":{"exempt":[],"x":1}}"#,
      path: "request.retry.terminalHttp.x"),
    Case(
      rule: "B44", text: #""retry":{"terminalHttp":{"exempt":["404"]}}"#,
      path: "request.retry.terminalHttp.exempt[0]"),
    Case(
      rule: "B44", text: #""retry":{"terminalHttp":{"exempt":[404,500]}}"#,
      path: "request.retry.terminalHttp.exempt[1]"),
    Case(rule: "B298", text: #""retry":{"transient":{}}"#, path: "request.retry.transient"),
    Case(rule: "B298", text: #""retry":{"transient":[{}]}"#, path: "request.retry.transient[0].status"),
    Case(
      rule: "B298", text: #""retry":{"transient":[{"status":422,"x":1}]}"#,
      path: "request.retry.transient[0].x"),
    Case(
      rule: "D17", text: #""retry":{"transient":[{"status":500}]}"#, path: "request.retry.transient[0].status"
    ),
    Case(
      rule: "D17", text: #""retry":{"transient":[{"status":399}]}"#, path: "request.retry.transient[0].status"
    ),
    Case(
      rule: "B298", text: #""retry":{"transient":[{"status":401}]}"#,
      path: "request.retry.transient[0].status"),
    Case(
      rule: "B298", text: #""retry":{"transient":[{"status":403}]}"#,
      path: "request.retry.transient[0].status"),
    Case(
      rule: "B298", text: #""retry":{"transient":[{"status":408}]}"#,
      path: "request.retry.transient[0].status"),
    Case(
      rule: "B298", text: #""retry":{"transient":[{"status":429}]}"#,
      path: "request.retry.transient[0].status"),
    Case(
      rule: "D17", text: #""retry":{"transient":[{"status":422,"maxRetries":-1}]}"#,
      path: "request.retry.transient[0].maxRetries"),
    Case(
      rule: "D17", text: #""retry":{"transient":[{"status":422,"maxRetries":1.5}]}"#,
      path: "request.retry.transient[0].maxRetries"),
    Case(rule: "B46", text: #""wifiOnly":1"#, path: "request.wifiOnly"),
    Case(rule: "B46", text: #""wifiOnly":null"#, path: "request.wifiOnly"),
    Case(rule: "README priority", text: #""priority":"low""#, path: "request.priority", says: "high, normal"),
    Case(rule: "D22", text: #""timeouts":{"totalMs":1}"#, path: "request.timeouts.totalMs"),
    Case(rule: "D22", text: #""timeouts":{"stallMs":0}"#, path: "request.timeouts.stallMs"),
    Case(rule: "D19", text: #""idempotencyKey":true"#, path: "request.idempotencyKey"),
    Case(rule: "D19", text: #""idempotencyKey":"""#, path: "request.idempotencyKey"),
    Case(rule: "D19", text: #""idempotencyKey":"a\r\nb""#, path: "request.idempotencyKey"),
    Case(rule: "D19", text: #""idempotencyKey":5"#, path: "request.idempotencyKey"),
  ]

  @Test("Refused by its path", arguments: cases)
  func refused(_ row: Case) throws {
    let isWhole = row.text.hasPrefix("{") || row.text.hasPrefix("[")
    let text = isWhole ? row.text : #"{"url":"http://h/",\#(row.text)}"#
    let input = try #require(try refusal { _ = try Descriptor(reading: json(text)) })
    #expect(input.path == row.path)
    #expect(input.message.contains(row.says))
  }

  @Test("B42: no hint when everything is near")
  func shortNames() {
    #expect(NearestName.of("a", among: ["id", "key"]) == nil)
    #expect(NearestName.of("ky", among: ["id", "key"]) == "key")
    #expect(NearestName.of(String(repeating: "x", count: 100_000), among: ["key"]) == nil)
  }
}

@Suite("Descriptors: what is kept")
struct DescriptorTests {
  @Test("B116: defaults of the smallest descriptor")
  func defaults() throws {
    let descriptor = try Descriptor(reading: json(#"{"url":"https://h/x"}"#))
    #expect(descriptor.method == .post)
    #expect(descriptor.body.kind == .none)
    #expect(descriptor.headers.fields.isEmpty)
    #expect(descriptor.accept.isEmpty)
    #expect(descriptor.expiresAt == nil)
    #expect(descriptor.retry == nil)
    #expect(descriptor.wifiOnly == nil)
    #expect(descriptor.priority == .normal)
    #expect(descriptor.timeouts == nil)
    #expect(descriptor.idempotencyKey == .automatic)
    #expect(descriptor.staging == .copy)
  }

  @Test(
    "B8, B9, A-BODY-05, A-BODY-06: data is kept byte for byte, null and falsy values too",
    arguments: ["null", "false", "0", #""""#, "[]", #"{"b":1.0,"a":9007199254740993,"u":"a\/b","n":null}"#])
  func data(text: String) throws {
    let descriptor = try Descriptor(reading: json(#"{"url":"https://h/x","data": \#(text) }"#))
    guard case .data(let data) = descriptor.body else {
      Issue.record("no data")
      return
    }
    #expect(data.description == text)
  }

  @Test("B117: a null member counts as absent, but for data and wifiOnly")
  func nulls() throws {
    let descriptor = try Descriptor(
      reading: json(
        #"""
        {"url":"https://h/x","method":null,"headers":null,"form":null,"file":null,"parts":null,"accept":null,
        "expiresAt":null,"retry":null,"priority":null,"timeouts":null,"idempotencyKey":null,"staging":null}
        """#))
    #expect(descriptor.method == .post)
    #expect(descriptor.body.kind == .none)
  }

  @Test("B35: a DELETE may have a body")
  func deleteWithBody() throws {
    #expect(try Descriptor.sample(#""method":"DELETE","data":{}"#).body.kind == .data)
  }

  @Test(
    "B40: expiresAt may be past, and is a whole number in any spelling",
    arguments: [("1", 1), ("1000.0", 1000), ("1e3", 1000), ("9007199254740991", 9_007_199_254_740_991)])
  func expiresAt(text: String, value: Int64) throws {
    #expect(try Descriptor.sample(#""expiresAt":\#(text)"#).expiresAt == value)
  }

  @Test(
    "B126, D29: paths as they are, and file URLs percent-decoded, any byte",
    arguments: [
      ("/a b/%41?#", Array("/a b/%41?#".utf8)), ("file:///a%20b", Array("/a b".utf8)),
      ("FILE:///a b", Array("/a b".utf8)), ("file://localhost/x", Array("/x".utf8)),
      ("file:///%ff%2F", [0x2F, 0xFF, 0x2F]), ("/é", Array("/é".utf8)),
    ])
  func paths(text: String, bytes: [UInt8]) throws {
    let path = try FilePath(reading: text, path: "f")
    #expect(path.bytes == bytes)
    #expect(try FilePath(reading: path.text, path: "f") == path)
  }

  static let full: [(String, BodyKind)] = [
    ("", .none),
    (
      #""method":"PUT","headers":{"X-A":"\"é","b":""},"file":"/a\"b/é""#, .file
    ),
    (
      #""form":[{"name":"a\r\n","contentType":"t/p","string":""},"#
        + #"{"name":"b","contentType":"t","path":"file:///%ff"},"#
        + #"{"name":"c","contentType":"t","path":"/x","fileName":"y\"z"}]"#, .form
    ),
    (
      #""data":{"big":[1,2]},"accept":[{"status":409,"bodyIncludes":"done"},{"status":404}],"expiresAt":5,"#
        + #""retry":{"backoff":{"baseMs":1,"maxMs":2,"jitter":0.25},"terminalHttp":{"exempt":[]},"#
        + #""transient":[{"status":422,"bodyIncludes":"é","maxRetries":0},{"status":423}]},"wifiOnly":false,"#
        + #""priority":"high","timeouts":{"stallMs":7},"idempotencyKey":"k\"1","staging":"copy""#, .data
    ),
    (#""retry":{},"timeouts":{},"wifiOnly":true,"idempotencyKey":false,"method":"GET""#, .none),
  ]

  @Test("B144: what is stored reads back the same", arguments: full)
  func roundTrip(members: String, kind: BodyKind) throws {
    let descriptor = try Descriptor.sample(members)
    #expect(descriptor.body.kind == kind)
    let stored = try Descriptor(stored: JSON(checking: descriptor.storedText), kind: kind)
    #expect(stored.storedText == descriptor.storedText)
    #expect(stored.url == descriptor.url)
    #expect(stored.method == descriptor.method)
    #expect(stored.headers == descriptor.headers)
    #expect(stored.accept == descriptor.accept)
    #expect(stored.expiresAt == descriptor.expiresAt)
    #expect(stored.retry == descriptor.retry)
    #expect(stored.wifiOnly == descriptor.wifiOnly)
    #expect(stored.priority == descriptor.priority)
    #expect(stored.timeouts == descriptor.timeouts)
    #expect(stored.idempotencyKey == descriptor.idempotencyKey)
    #expect(stored.body.paths == descriptor.body.paths)
    let data: JSON? = kind == .data ? try json(#"{"big":[1,2]}"#) : nil
    #expect(descriptor.body.isSame(as: stored.body, storedData: data, storedParts: nil))
  }

  @Test("D27: the value of data is not stored twice")
  func dataLeftOut() throws {
    let text = try Descriptor.sample(#""data":{"secret":1}"#).storedText
    #expect(!String(decoding: text, as: UTF8.self).contains("secret"))
  }

  @Test("B146: stored text that does not fit its kind is refused, so that the row reads as absent")
  func wrongKind() throws {
    let text = try JSON(checking: Descriptor.sample(#""file":"/a""#).storedText)
    #expect(try refusedPath { _ = try Descriptor(stored: text, kind: .form) } == "stored")
    #expect(try refusedPath { _ = try Descriptor(stored: json("[]"), kind: .none) } == "stored")
  }
}
