import QueueModel
import QueueStore
import Testing

@testable import QueueEngine

/// Requests that take values from earlier answers.
@Suite struct BindingTests {
  private let bindID =
    #""bind":{"id":{"entry":"a","pointer":"/photo/id"},"at":{"entry":"a","header":"Location"}}"#
  private let template = #"""
    {"url":"http://h.test/x/{id}?at={at}","headers":{"X-At":"<{at}>"},"data":{"id":{"$bind":"id"},"n":1.0}}
    """#
  private let answer = AttemptResult.answer(
    201, body: #"{"photo":{"id":1.50e1,"tags":["a/b"]}}"#, headers: [("location", "/p/7")])

  private func bytes(_ transmission: Transmission) -> String {
    guard case .bytes(let bytes) = transmission.body else { return "no bytes" }
    return String(decoding: bytes, as: UTF8.self)
  }

  @Test(
    "D46: values are taken when the entry completes, kept over its acknowledgement and a restart, and exact")
  func taken() throws {
    let harness = try Harness()
    try harness.configure(#"{"concurrency":{"total":1,"reservedHigh":0,"partsPerEntry":1}}"#)
    try harness.subscribe()
    try harness.link("a")
    try harness.link("block")
    try harness.link("b", bindID, template)
    #expect(try harness.row("b")?.totalBytes == 29)
    try harness.finish("a", answer)
    #expect(try harness.row("b")?.totalBytes == 21)
    try harness.acknowledge("a")
    try harness.relaunch()
    try harness.subscribe()
    let sent = try harness.sent("b")
    #expect(sent.url.text == "http://h.test/x/1.50e1?at=%2Fp%2F7")
    #expect(sent.headers["X-At"] == "</p/7>")
    #expect(bytes(sent) == #"{"id":1.50e1,"n":1.0}"#)
    try harness.finish("b", .answer(200))
    #expect(harness.outcome("b")?.url == "http://h.test/x/1.50e1?at=%2Fp%2F7")
    #expect(harness.outcome("b")?.totalBytes == 21)
  }

  @Test("D46, D5: the template is what is compared; enqueued again, the values stay")
  func again() throws {
    let harness = try Harness()
    try harness.subscribe()
    try harness.link("a")
    try harness.link("b", bindID, template)
    try harness.finish("a", answer)
    try harness.finish("b", .answer(400))
    try harness.acknowledge("a")
    let spaced = template.replacing(#""n":1.0"#, with: #" "n" : 1.0"#)
    #expect(try harness.link("b", bindID, spaced).disposition == .reopened)
    #expect(bytes(try harness.sent("b")) == #"{"id":1.50e1,"n":1.0}"#)
  }

  @Test("D46: of an entry that has completed, values come from its outcome while that is there")
  func completedBefore() throws {
    let harness = try Harness()
    try harness.subscribe()
    try harness.link("a")
    try harness.link("keeps", #""after":["a"]"#)
    try harness.finish("a", answer)
    try harness.link("b", bindID, template)
    #expect(bytes(try harness.sent("b")) == #"{"id":1.50e1,"n":1.0}"#)
    try harness.acknowledge("a")
    let refused = "bind.id: names an entry that has completed, and whose answer was acknowledged"
    #expect(try harness.refusal(of: "c", bindID, template) == refused)
  }

  @Test(
    "D46: a value that is not there ends the entry, with the binding and the reason, and no more",
    arguments: [
      ("", [("location", "/")], "the answer had no body"),
      ("secret", [("location", "/")], "the answer's body is not JSON"),
      (#"{"photo":{}}"#, [("location", "/")], "nothing stands at /photo/id of the answer"),
      (#"{"photo":[1]}"#, [("location", "/")], "nothing stands at /photo/id of the answer"),
      (
        #"{"photo":{"id":null}}"#, [("location", "/")],
        "must be a string, a number, true or false to stand in a URL or a header"
      ),
      (
        #"{"photo":{"id":{"a":1}}}"#, [("location", "/")],
        "must be a string, a number, true or false to stand in a URL or a header"
      ),
      (#"{"photo":{"id":".."}}"#, [("location", "/")], "makes a path segment that is empty, . or .."),
      (#"{"photo":{"id":""}}"#, [("location", "/")], "makes a path segment that is empty, . or .."),
    ])
  func missing(_ body: String, _ headers: [(String, String)], _ reason: String) throws {
    let harness = try Harness()
    try harness.subscribe()
    try harness.link("a")
    try harness.link("b", bindID, template)
    try harness.finish("a", .answer(200, body: body, headers: headers.map { (name: $0.0, value: $0.1) }))
    #expect(harness.outcome("b")?.failure == "dependency: bind.id of a: \(reason)")
    #expect(harness.transport.started.count == 1)
  }

  @Test("D46: a header that is absent, or would bring a line of its own, ends the entry")
  func headers() throws {
    for (headers, reason) in [
      ([], "the answer had no header Location"),
      ([(name: "location", value: "/\r\nX-Evil: 1")], "holds a control character, which no header may"),
      ([(name: "location", value: "/\0")], "holds a control character, which no header may"),
    ] {
      let harness = try Harness()
      try harness.subscribe()
      try harness.link("a")
      try harness.link("b", bindID, template)
      try harness.finish("a", .answer(200, body: #"{"photo":{"id":1}}"#, headers: headers))
      #expect(harness.outcome("b")?.failure == "dependency: bind.at of a: \(reason)")
    }
  }

  @Test("D46: an answer that was cut has no values")
  func cut() throws {
    let harness = try Harness()
    try harness.subscribe()
    try harness.link("a", "", Sample.data(1, #""accept":[{"status":404}]"#))
    try harness.link("b", bindID, template)
    try harness.finish("a", .answer(404, body: #"{"photo":{"id":1}}"#, .cut))
    #expect(harness.outcome("b")?.failure == "dependency: bind.id of a: the answer's body was cut")
  }

  @Test("D46: a value chooses the origin only where the descriptor says so")
  func origin() throws {
    let harness = try Harness()
    try harness.subscribe()
    let bind = #""bind":{"to":{"entry":"a","pointer":"/to"}}"#
    let bound = #"{"url":"{to}","boundOrigin":true,"method":"PUT","data":1}"#
    try harness.link("a")
    try harness.link("b", bind, bound)
    try harness.link("c", bind, bound)
    #expect(try harness.running == ["a"])
    try harness.finish("a", .answer(200, body: #"{"to":"https://cdn.test:444/u?sig=a%2Fb"}"#))
    #expect(try harness.sent("b").url.text == "https://cdn.test:444/u?sig=a%2Fb")
    #expect(try harness.sent("b").url.origin.text == "https://cdn.test:444")
    try harness.relaunch()
    #expect(try harness.running == ["b", "c"])
    try harness.link("d", "", Sample.data(3))
    try harness.link("e", #""bind":{"to":{"entry":"d","pointer":""}}"#, bound)
    try harness.subscribe()
    try harness.finish("d", .answer(200, body: #""ftp://evil.test/""#))
    #expect(
      harness.outcome("e")?.failure == "dependency: bind.to of d: must be an http or https URL")
  }

  @Test("D46: parts take values in their urls and headers, within their origin")
  func parts() throws {
    let harness = try Harness()
    try harness.subscribe()
    let path = try harness.source("film", "0123456789")
    try harness.link("a")
    try harness.link(
      "b", #""bind":{"id":{"entry":"a","pointer":"/id"}}"#,
      #"""
      {"method":"PUT","file":"\#(path)","parts":[
        {"url":"http://h.test/u/{id}/1","headers":{"X-Id":"{id}"},"range":{"start":0,"end":4}},
        {"url":"http://h.test/u/{id}/2","range":{"start":4,"end":10}}]}
      """#)
    try harness.finish("a", .answer(200, body: #"{"id":"p 7"}"#))
    #expect(
      harness.transport.running.map(\.url.text) == ["http://h.test/u/p%207/1", "http://h.test/u/p%207/2"])
    #expect(harness.transport.running[0].headers["X-Id"] == "p 7")
    try harness.finish(.answer(200))
    try harness.relaunch()
    #expect(harness.transport.running.map(\.url.text) == ["http://h.test/u/p%207/2"])
    try harness.subscribe()
    try harness.finish(.answer(200))
    #expect(harness.outcome("b")?.settlement.kind == .completed)
  }

  @Test("D46, D44: a value that does not fit a part ends the entry, and its retry, for the same reason")
  func misfitOfPart() throws {
    let harness = try Harness()
    try harness.subscribe()
    let path = try harness.source("film", "0123456789")
    try harness.link("a")
    try harness.link(
      "b", #""bind":{"id":{"entry":"a","pointer":"/id"}}"#,
      #"""
      {"method":"PUT","file":"\#(path)","parts":[
        {"url":"http://h.test/1","range":{"start":0,"end":4}},
        {"url":"http://h.test/{id}","range":{"start":4,"end":10}}]}
      """#)
    try harness.finish("a", .answer(200, body: #"{"id":[]}"#))
    let failure =
      "dependency: bind.id of a: must be a string, a number, true or false to stand in a URL or a header"
    #expect(harness.outcome("b")?.failure == failure)
    try harness.retry("b")
    #expect(harness.outcome("b")?.generation == 2)
    #expect(harness.outcome("b")?.failure == failure)
    #expect(harness.transport.running.isEmpty)
  }

  @Test("D46: data that lies in a file holds values too; what they make of it is bounded")
  func large() throws {
    let harness = try Harness()
    try harness.subscribe()
    let filler = String(repeating: "x", count: 200_000)
    let bind = #""bind":{"v":{"entry":"a","pointer":""}}"#
    try harness.link("a")
    try harness.link("b", bind, #"{"url":"http://h.test/","data":["\#(filler)",{"$bind":"v"}]}"#)
    let places = (0..<9).map { _ in #"{"$bind":"v"}"# }.joined(separator: ",")
    try harness.link("c", bind, #"{"url":"http://h.test/","data":[\#(places)]}"#)
    let value = "\"" + String(repeating: "y", count: 1_000_000) + "\""
    try harness.finish("a", .answer(200, body: value))
    #expect(bytes(try harness.sent("b")) == "[\"\(filler)\",\(value)]")
    #expect(
      harness.outcome("c")?.failure == "dependency: bind.v of a: makes data of more than 8388608 bytes")
  }

  @Test("D46, D38: explain and messages hold nothing of a value")
  func secret() throws {
    let harness = try Harness()
    try harness.subscribe()
    try harness.link("a")
    try harness.link("b", bindID, template)
    try harness.finish(
      "a", .answer(200, body: #"{"photo":{"id":"secret"}}"#, headers: [("location", "secret\n")]))
    #expect(harness.outcome("b")?.failure?.contains("secret") == false)
  }

  @Test("D46: without bind all of it is plain text")
  func plain() throws {
    let harness = try Harness()
    let request = #"{"url":"http://h.test/{id}","headers":{"X":"{id}"},"data":{"$bind":"id"}}"#
    try harness.link("a", "", request)
    #expect(try harness.sent("a").url.text == "http://h.test/{id}")
    #expect(bytes(try harness.sent("a")) == #"{"$bind":"id"}"#)
  }
}
