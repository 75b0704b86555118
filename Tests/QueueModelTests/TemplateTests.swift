import JSONText
import Testing

@testable import QueueModel

/// What values make of a request.
@Suite("Values in requests (D46)")
struct TemplateTests {
  private func dependencies(_ names: [String] = ["a", "b"]) throws -> Dependencies {
    let bind = names.map { #""\#($0)":{"entry":"p","pointer":"/\#($0)"}"# }.joined(separator: ",")
    return try Dependencies(after: nil, onFailure: nil, bind: json("{\(bind)}"))
  }

  private func values(_ a: String, _ b: String = "1") throws -> BoundValues {
    let bindings = try dependencies().bindings
    return BoundValues([
      TakenBinding(bindings[0], value: try json(a)), TakenBinding(bindings[1], value: try json(b)),
    ])
  }

  private func url(_ template: String, _ a: String, _ b: String = "1") throws -> String? {
    try Descriptor.sample("", url: template).expanded(with: values(a, b)).url?.text
  }

  @Test(
    "D46: a value stays within its place of a URL, whatever it holds",
    arguments: [
      (#""x y""#, "x%20y"), (#""/../""#, "%2F..%2F"), (#""?q#f""#, "%3Fq%23f"), (#""u@h:1""#, "u%40h%3A1"),
      (#""%2e%2e""#, "%252e%252e"), (#""é\u202e""#, "%C3%A9%E2%80%AE"), (#""\r\n""#, "%0D%0A"),
      (#""\u0000""#, "%00"), (#""{b}""#, "%7Bb%7D"), ("12.50e3", "12.50e3"), ("-0", "-0"), ("true", "true"),
      (#""...""#, "..."), (#""A-z_0.~""#, "A-z_0.~"), (#""\\""#, "%5C"),
    ])
  func encoded(_ value: String, _ written: String) throws {
    #expect(
      try url("https://h.test/x/{a}/y?q={a}#{a}", value)
        == "https://h.test/x/\(written)/y?q=\(written)#\(written)")
  }

  @Test(
    "D46: a value makes no path segment that is empty or goes up",
    arguments: [
      ("/{a}", #"".""#, "1"), ("/{a}", #""..""#, "1"), ("/{a}/x", #""""#, "1"), ("/{a}{b}", #"".""#, #"".""#),
      ("/.{a}", #"".""#, "1"), ("/%2E{a}?x", #"".""#, "1"), ("/x/{a}#f", #""..""#, "1"),
      ("/x/{a}", #""""#, "1"),
    ])
  func segments(_ path: String, _ a: String, _ b: String) throws {
    #expect(throws: BindingFailure(message: "bind.a of p: makes a path segment that is empty, . or ..")) {
      try url("https://h.test\(path)", a, b)
    }
  }

  @Test("D46: empty and dotted values may stand in a query, and beside other text of a segment")
  func harmless() throws {
    #expect(try url("https://h.test/v{a}?q={b}", #""..""#, #""""#) == "https://h.test/v..?q=")
    #expect(try url("https://h.test?q={a}/{b}", #""..""#, #"".""#) == "https://h.test?q=../.")
  }

  @Test(
    "D46, D33: names of values stand behind the authority only, and nothing else in braces",
    arguments: [
      "http://{a}/", "http://h{a}/", "http://h:{a}/", "http://{a}@h/", "{a}", "{a}://h/", "http{a}://h/",
      "http://h/{", "http://h/}", "http://h/{c}", "http://h/{+a}", "http://h/{a,b}", "http://h/{ a }",
      "http://h/{a*}", "http://h/{}", "http://h/{a}}", "http://h/{{a}",
    ])
  func urlRefused(_ url: String) throws {
    #expect { try dependencies().check(.sample("", url: url)) } throws: {
      ($0 as? InvalidInput)?.path == "request.url"
    }
  }

  @Test("D46: in headers other braces are text, but a name has to be bound")
  func headers() throws {
    let request = try Descriptor.sample(#""headers":{"X":"{\"a\":{a}} {b}{ c }"}"#)
    try dependencies().check(request)
    #expect(try request.expanded(with: values(#""é\t""#)).headers["X"] == "{\"a\":é\t} 1{ c }")
    let wrong = try Descriptor.sample(#""headers":{"X-Y":"{c}"}"#)
    #expect(throws: InvalidInput(path: "request.headers.X-Y", message: "holds {c}, which bind does not name"))
    {
      try dependencies().check(wrong)
    }
    for value in [#""\r\nX: 1""#, #""\n""#, #""\u0000""#, #""\u007f""#, #""\u0085""#] {
      #expect(throws: BindingFailure.self) { try request.expanded(with: values(value)) }
    }
    let huge = "\"" + String(repeating: "x", count: 300_000) + "\""
    #expect(throws: BindingFailure(message: "bind.a of p: makes headers of more than 262144 bytes")) {
      try request.expanded(with: values(huge))
    }
    #expect(throws: BindingFailure.self) { try url("https://h.test/{a}", huge) }
  }

  @Test(
    "D46: in data any value stands in for its place, byte for byte",
    arguments: [
      (#"{"$bind":"a"}"#, #"{"z":1,"z":1.0}"#, #"{"z":1,"z":1.0}"#),
      (#"[ {"$bind" : "a"} , {"x":{"\u0024bind":"b"}}]"#, "null", #"[ null , {"x":1}]"#),
      (#"{"k":"{\"$bind\":\"a\"}","$bindx":1}"#, "1", nil), (#""$bind""#, "1", nil), ("[]", "1", nil),
    ])
  func data(_ data: String, _ value: String, _ expected: String?) throws {
    try dependencies().check(.sample(#""data":\#(data)"#))
    let expanded = try Descriptor.expanded(json(data), with: values(value))
    #expect(expanded.map { String(decoding: $0, as: UTF8.self) } == expected)
  }

  @Test(
    "D46: a place in data has a bound name alone, and the refusal says where it is",
    arguments: [
      (#"{"x":[1,{"$bind":"c"}]}"#, "request.data.x[1]"), (#"{"$bind":"a","y":1}"#, "request.data"),
      (#"[{"y":1,"$bind":"a"}]"#, "request.data[0]"), (#"{"$bind":1}"#, "request.data"),
      (#"{"$bind":{"$bind":"a"}}"#, "request.data"), (#"{"y":{"$bind":"a"},"$bind":"a"}"#, "request.data"),
    ])
  func dataRefused(_ data: String, _ path: String) throws {
    #expect { try dependencies().check(.sample(#""data":\#(data)"#)) } throws: {
      ($0 as? InvalidInput)?.path == path
    }
  }

  @Test("D46: data with places for values has at most 1 MiB; other data may be larger")
  func dataSize() throws {
    let large = String(repeating: "x", count: 1 << 20)
    try dependencies().check(.sample(#""data":"\#(large)""#))
    #expect(throws: InvalidInput.self) {
      try dependencies().check(.sample(#""data":["\#(large)",{"$bind":"a"}]"#))
    }
  }

  @Test("D46: boundOrigin goes with bind and with one name as the url")
  func boundOrigin() throws {
    let bound = try Descriptor(reading: json(#"{"url":"{a}","boundOrigin":true}"#))
    try dependencies().check(bound)
    #expect(try Descriptor(stored: JSON(trusted: bound.storedText), kind: .none).boundOrigin)
    #expect(bound.url?.origin.text == "")
    #expect(
      try bound.expanded(with: values(#""http://o.test:81/x y""#.replacing(" ", with: "%20"))).url?.text
        == "http://o.test:81/x%20y")
    for value in [
      #""//o.test/""#, #""ftp://o.test/""#, #""http://u:p@o.test/""#, #""http://o.test/\r\n""#, "1",
    ] {
      #expect(throws: BindingFailure.self) { try bound.expanded(with: values(value)) }
    }
    #expect(throws: InvalidInput(path: "request.boundOrigin", message: "goes with bind, which names the url"))
    {
      try Dependencies().check(bound)
    }
    for url in ["{a}/x", "http://h/{a}", "{}", "{a}{b}"] {
      #expect { try Descriptor(reading: json(#"{"url":"\#(url)","boundOrigin":true}"#)) } throws: {
        ($0 as? InvalidInput)?.path == "request.url"
      }
    }
    #expect {
      try Descriptor(
        reading: json(
          #"{"boundOrigin":true,"file":"/f","parts":[{"url":"http://h/","range":{"start":0,"end":1}}]}"#))
    } throws: { ($0 as? InvalidInput)?.path == "request.boundOrigin" }
  }
}
