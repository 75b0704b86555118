import JSONRPC
import JSONText
import Testing

/// The members that every request of the tables has, before `rest`.
private func envelope(_ rest: String) -> String { "{\"jsonrpc\":\"2.0\",\(rest)}" }

@Suite struct IncomingTests {
  @Test(
    "A request is read, in any order and with any spacing",
    arguments: [
      (#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#, "1 calls ping"),
      (
        #" { "params" : { "a" : [ 1 ] } , "method":"x","id":"\u0061","jsonrpc":"2.0"} "#,
        #""\u0061" calls x { "a" : [ 1 ] }"#
      ),
      (
        #"{"jsonrpc":"2.\u0030","\u0069d":9007199254740991,"method":"\u0078","params":{}}"#,
        "9007199254740991 calls x {}"
      ),
      (#"{"jsonrpc":"2.0","id":2147483648,"method":"x"}"#, "2147483648 calls x"),
      (#"{"jsonrpc":"2.0","id":-0,"method":"x"}"#, "-0 calls x"),
      (
        #"{"jsonrpc":"2.0","id":1,"method":"x","params":{"v":{"a":1,"a":2},"w":[{"b":0,"b":0}]}}"#,
        #"1 calls x {"v":{"a":1,"a":2},"w":[{"b":0,"b":0}]}"#
      ),
    ])
  func request(_ line: String, _ reading: String) {
    #expect(Reading(line).description == reading)
  }

  @Test(
    "A line that is not JSON is answered with id null",
    arguments: [
      "garbage", "{", #"{"jsonrpc":"2.0","id":1,"method":"x""#, #"{"jsonrpc":"2.0","id":1,"method":"x"}}"#,
      #"{"jsonrpc":"2.0","id":1,"method":"x","params":{"a":01}}"#, "\u{FEFF}{}", #"{"id":1,}"#, "'x'",
      "{}\u{0}",
    ])
  func notJSON(_ line: String) {
    #expect(Reading(line).description == "null refused -32700 E_PARSE")
  }

  @Test("A line with bad UTF-8 is answered with id null")
  func badUTF8() {
    let line = Array(#"{"jsonrpc":"2.0","id":1,"method":""#.utf8) + [0xC0, 0x80] + Array("\"}".utf8)
    #expect(Reading(.read(line)).description == "null refused -32700 E_PARSE")
  }

  @Test(
    "An id that cannot be told is a parse error",
    arguments: [
      #""id":"\ud800","method":"x""#, #""id":1,"id":2,"method":"x""#, #""id":1,"method":"x","id":"1""#,
    ])
  func unreadableID(_ rest: String) {
    #expect(Reading(envelope(rest)).description == "null refused -32700 E_PARSE id")
  }

  @Test(
    "An id of the wrong kind is no request's, and is never made up",
    arguments: [
      "null", "true", "1.0", "1.5", "1e2", "1e400", "9007199254740992", "{}", "[]", "[1]",
      "\"" + String(repeating: "a", count: 129) + "\"",
    ])
  func wrongID(_ id: String) {
    #expect(
      Reading(envelope("\"id\":\(id),\"method\":\"x\"")).description == "null refused -32600 E_REQUEST id")
  }

  @Test(
    "A-RPC-10: what cannot be kept is refused with the line's own id and the path",
    arguments: [
      (#""id":5,"method":"x","params":{"vars":["\ud800"]}"#, "vars[0]"),
      (#""params":{"vars":{"a":[1,{"b":1e400}]}},"method":"x","id":5"#, "vars.a[1].b"),
      (#""id":5,"method":"\udfff""#, "method"), (#""id":5,"method":"x","extra":1e999"#, "extra"),
      (
        #""id":5,"method":"x","params":{"vars":"# + String(repeating: "[", count: 255)
          + String(repeating: "]", count: 255) + "}",
        "vars" + String(repeating: "[0]", count: 62) + "\u{2026}"
      ),
      (
        #""method":"x","params":{"v":"# + String(repeating: #"{"a":"#, count: 100_000) + "1"
          + String(repeating: "}", count: 100_000) + #"},"id":5"#,
        "v" + String(repeating: ".a", count: 62) + "\u{2026}"
      ),
    ])
  func unfit(_ rest: String, _ path: String) {
    #expect(Reading(envelope(rest)).description == "5 refused -32602 E_INVALID \(path)")
  }

  @Test(
    "A repeated member of the envelope or of params is refused with the line's own id and the path",
    arguments: [
      (#""id":5,"method":"x","method":"x""#, "method"), (#""id":5,"method":"x","jsonrpc":"2.0""#, "jsonrpc"),
      (#""id":5,"method":"x","params":{},"params":{}"#, "params"), (#""id":5,"method":"x","id":5"#, "id"),
      (#""id":5,"method":"x","\u006dethod":"x""#, "method"),
      (#""id":5,"method":"x","params":{"a":1,"b":2,"a":1}"#, "a"),
      (#""id":5,"method":"x","params":{"a":1,"\u0061":1}"#, "a"),
    ])
  func repeated(_ rest: String, _ path: String) {
    #expect(Reading(envelope(rest)).description == "5 refused -32602 E_INVALID \(path)")
  }

  @Test(
    "JSON that is no request is refused with its id, where it has one",
    arguments: [
      ("5", "null refused -32600 E_REQUEST"), ("null", "null refused -32600 E_REQUEST"),
      ("\"x\"", "null refused -32600 E_REQUEST"), ("[]", "null refused -32600 E_REQUEST"),
      (
        #"[{"jsonrpc":"2.0","id":1,"method":"x"},{"jsonrpc":"2.0","id":2,"method":"x"}]"#,
        "null refused -32600 E_REQUEST"
      ),
      (#"["\ud800"]"#, "null refused -32600 E_REQUEST"), ("{}", "null refused -32600 E_REQUEST jsonrpc"),
      (#"{"id":99,"method":"getRequests"}"#, "99 refused -32600 E_REQUEST jsonrpc"),
      (#"{"jsonrpc":"1.0","id":99,"method":"x"}"#, "99 refused -32600 E_REQUEST jsonrpc"),
      (#"{"jsonrpc":2.0,"id":99,"method":"x"}"#, "99 refused -32600 E_REQUEST jsonrpc"),
      (#"{"jsonrpc":"2.0","id":99}"#, "99 refused -32600 E_REQUEST method"),
      (#"{"jsonrpc":"2.0","id":99,"method":""}"#, "99 refused -32600 E_REQUEST method"),
      (#"{"jsonrpc":"2.0","id":99,"method":5}"#, "99 refused -32600 E_REQUEST method"),
      (#"{"jsonrpc":"2.0","id":99,"method":null}"#, "99 refused -32600 E_REQUEST method"),
      (#"{"jsonrpc":"2.0","id":99,"result":{}}"#, "99 refused -32600 E_REQUEST result"),
      (
        #"{"jsonrpc":"2.0","id":"a","error":{"code":1,"message":""}}"#, #""a" refused -32600 E_REQUEST error"#
      ),
      (#"{"jsonrpc":"2.0","id":99,"method":"x","result":{}}"#, "99 refused -32600 E_REQUEST result"),
      (#"{"jsonrpc":"2.0","id":99,"method":"x","Params":{}}"#, "99 refused -32600 E_REQUEST Params"),
      (#"{"jsonrpc":"2.0","id":99,"method":"x","a b":{}}"#, #"99 refused -32600 E_REQUEST ["a b"]"#),
      (#"{"jsonrpc":"2.0","id":99,"method":"x","params":5}"#, "99 refused -32602 E_INVALID params"),
      (#"{"jsonrpc":"2.0","id":99,"method":"x","params":[1]}"#, "99 refused -32602 E_INVALID params"),
      (#"{"jsonrpc":"2.0","id":99,"method":"x","params":null}"#, "99 refused -32602 E_INVALID params"),
    ])
  func noRequest(_ line: String, _ reading: String) {
    #expect(Reading(line).description == reading)
  }

  @Test(
    "A call without an id is a notification, whatever its params; anything else without one is refused",
    arguments: [
      (#"{"jsonrpc":"2.0","method":"x"}"#, "tells x"),
      (#"{"jsonrpc":"2.0","method":"x","params":{"a":1}}"#, "tells x"),
      (#"{"jsonrpc":"2.0","method":"x","params":["\ud800",1e400]}"#, "tells x"),
      (#"{"method":"x"}"#, "null refused -32600 E_REQUEST jsonrpc"),
      (#"{"jsonrpc":"2.0"}"#, "null refused -32600 E_REQUEST method"),
      (#"{"jsonrpc":"2.0","method":"x","ID":1}"#, "null refused -32600 E_REQUEST ID"),
      (#"{"jsonrpc":"2.0","result":1}"#, "null refused -32600 E_REQUEST result"),
    ])
  func notification(_ line: String, _ reading: String) {
    #expect(Reading(line).description == reading)
  }

  @Test("A message names the member and what is right, and shows nothing of its value")
  func messages() throws {
    let secret = "s3cret"
    for line in [
      #"{"jsonrpc":"2.0","id":5,"method":"x","params":{"headers":{"Authorization":"s3cret\ud800"}}}"#,
      #"{"jsonrpc":"2.0","id":5,"method":"x","params":"s3cret"}"#, #"{"jsonrpc":"s3cret","id":5}"#,
      #"{"jsonrpc":"2.0","id":"# + "\"" + String(repeating: secret, count: 30) + "\"}", #"{"a":s3cret}"#,
    ] {
      guard case .refused(_, let error) = Incoming.read(Array(line.utf8)) else {
        Issue.record("not refused: \(line)")
        continue
      }
      #expect(!error.message.contains(secret))
      if let path = error.path { #expect(error.message.contains(path)) }
    }
  }
}
