import JSONText
import Testing

@testable import QueueModel

@Suite("Request headers")
struct HeaderFieldsTests {
  @Test("D32: fields keep order, spelling and value")
  func read() throws {
    let fields = try HeaderFields(
      reading: json(#"{"X-B":"","authorization":"Bearer \u00e9","X-A":" a\tb "}"#), path: "h")
    #expect(fields.fields.map(\.name) == ["X-B", "authorization", "X-A"])
    #expect(fields.fields.map(\.value) == ["", "Bearer é", " a\tb "])
    #expect(fields["AUTHORIZATION"] == "Bearer é")
  }

  @Test(
    "D32, A-BODY-07: headers that the transport owns are refused by their path, whatever their case",
    arguments: [
      "Content-Length", "content-length", "Transfer-Encoding", "transfer-encoding", "Host", "Connection",
      "Expect",
      "TE", "Trailer", "Upgrade", "Keep-Alive", "Proxy-Authorization", "proxy-x", "PROXY-CONNECTION",
    ])
  func owned(name: String) throws {
    let path = try refusedPath {
      _ = try HeaderFields(reading: json(#"{"\#(name)":"1"}"#), path: "request.headers")
    }
    #expect(path == "request.headers.\(name)")
  }

  @Test(
    "D32: names near the owned ones pass",
    arguments: ["Content-Type", "X-Host", "Hosts", "Proxy", "TEa", "X-Request-Id", "!#$%&'*+-.^_`|~09"])
  func notOwned(name: String) throws {
    #expect(try HeaderFields(reading: json(#"{"\#(name)":"1"}"#), path: "h").fields.count == 1)
  }

  @Test(
    "B123: a name is a token; the refusal shows no more than its valid beginning",
    arguments: [
      ("", "h"), (" a", "h"), ("a b", "h.a"), ("Authorization: Bearer s3cret", "h.Authorization"),
      ("a\\nb", "h.a"),
      ("é", "h"), ("a:", "h.a"), ("a\\u0000", "h.a"), ("(x)", "h"),
    ])
  func names(name: String, path: String) throws {
    let input = try #require(
      try refusal { _ = try HeaderFields(reading: json(#"{"\#(name)":"1"}"#), path: "h") })
    #expect(input.path == path)
    #expect(!input.message.contains("s3cret"))
  }

  @Test(
    "A-URL-06, D32: a value has no control character but tab; the refusal does not show it",
    arguments: [
      "s3cret\\r\\nX-Injected: 1", "s3cret\\n", "s3cret\\r", "s3cret\\u0000", "s3cret\\u007f",
      "s3cret\\u001b",
      "s3cret\\u0085",
    ])
  func values(value: String) throws {
    let input = try #require(
      try refusal { _ = try HeaderFields(reading: json(#"{"X-A":"\#(value)"}"#), path: "h") })
    #expect(input.path == "h.X-A")
    #expect(!input.message.contains("s3cret"))
  }

  @Test(
    "D32: a value is a string", arguments: ["1", "null", "true", "[]", "{}", "1.5"])
  func notStrings(value: String) throws {
    #expect(
      try refusedPath { _ = try HeaderFields(reading: json(#"{"X-A":\#(value)}"#), path: "h") } == "h.X-A")
  }

  @Test("D32, A-URL-08: names equal but for case are refused in one map")
  func twice() throws {
    #expect(
      try refusedPath { _ = try HeaderFields(reading: json(#"{"a":"1","A":"2"}"#), path: "h") } == "h.A")
    #expect(
      try refusedPath { _ = try HeaderFields(reading: json(#"{"a":"1","a":"1"}"#), path: "h") } == "h.a")
  }

  @Test(
    "D32, A-URL-08: names equal but for case are found among many, the first ones too",
    arguments: [0, 15, 16, 39])
  func twiceAmongMany(place: Int) throws {
    let names = (0..<40).map { "X-\($0)" }
    let members = (names + ["x-\(place)"]).map { "\"\($0)\":\"v\"" }.joined(separator: ",")
    let path = try refusedPath { _ = try HeaderFields(reading: json("{\(members)}"), path: "h") }
    #expect(path == "h.x-\(place)")
    let all = names.map { "\"\($0)\":\"v\"" }.joined(separator: ",")
    #expect(try HeaderFields(reading: json("{\(all)}"), path: "h").fields.count == 40)
  }

  @Test("D32: headers are an object", arguments: ["[]", "null", "\"a: b\"", "1"])
  func notAnObject(text: String) throws {
    #expect(try refusedPath { _ = try HeaderFields(reading: json(text), path: "h") } == "h")
  }

  @Test("D32: more than a request head can hold is refused")
  func tooLarge() throws {
    let value = String(repeating: "v", count: 300_000)
    #expect(try refusedPath { _ = try HeaderFields(reading: json(#"{"a":"\#(value)"}"#), path: "h") } == "h")
  }

  @Test("A-URL-08: a field set over another takes its place, with the newer spelling")
  func merge() throws {
    let lower = try HeaderFields(reading: json(#"{"X-A":"1","authorization":"a"}"#), path: "h")
    let upper = try HeaderFields(reading: json(#"{"AUTHORIZATION":"c","X-B":"2"}"#), path: "h")
    let merged = lower.merged(under: upper)
    #expect(merged.fields.map(\.name) == ["X-A", "AUTHORIZATION", "X-B"])
    #expect(merged.fields.map(\.value) == ["1", "c", "2"])
  }

  @Test("D5: values compare byte by byte")
  func exactEquality() throws {
    let composed = try HeaderFields(reading: json(#"{"a":"\u00e9"}"#), path: "h")
    let decomposed = try HeaderFields(reading: json(#"{"a":"e\u0301"}"#), path: "h")
    #expect(composed != decomposed)
  }
}
