import JSONText
import Testing

@testable import Console

@Suite("D38: what of an event people may see")
struct OpenEventTests {
  private static let secret = "hunter2"

  /// Every member that a version of this protocol, or a later one, may have.
  private static let event = """
    {"eventId":"e","id":"a","group":"g","key":"k","vars":{"n":1.0},"at":5,"attempt":1,
    "url":"http://h/p?\(secret)#\(secret)","method":"POST","outcome":"error","state":"error","kind":"error",
    "httpCode":422,"errorKind":"http",
    "responseBody":"\(secret)","responseBodyBase64":"\(secret)","responseHeaders":{"x":"\(secret)"},
    "response":{"status":201,"headers":{"x":"\(secret)"},"body":"\(secret)","bodyTruncated":false},
    "error":{"errorKind":"http","message":"m","response":{"status":422,"body":"\(secret)"},
    "later":"\(secret)"},"later":"\(secret)"}
    """

  @Test("no secret comes through, for programs and for people", arguments: OpenEvent.allCases)
  func secrets(_ event: OpenEvent) throws {
    let params = try JSON(checking: Array(OpenEventTests.event.utf8))
    let shown = JSON { $0.object { event.write(params, into: &$0) } }
    #expect(!shown.description.contains(OpenEventTests.secret))
    #expect(!event.words(of: params).contains(OpenEventTests.secret))
    switch event {
    case .attempt, .settled:
      #expect(shown["id"]?.string == "a")
      #expect(shown["url"]?.string == "http://h/p")
    case .state: #expect(shown["id"]?.string == "a")
    case .groupSettled: #expect(shown["eventId"]?.string == "e")
    case .group: #expect(shown["group"]?.string == "g")
    }
  }

  @Test("an outcome in a few words")
  func words() throws {
    func words(_ text: String) throws -> String { OpenEvent.words(of: try JSON(checking: Array(text.utf8))) }
    #expect(try words(#"{"kind":"completed","response":{"status":201}}"#) == "completed 201")
    #expect(try words(#"{"kind":"completed","response":{}}"#) == "completed")
    #expect(
      try words(
        #"{"kind":"error","error":{"errorKind":"http","message":"no\nway","response":{"status":422}}}"#)
        == "error http 422: no\\u{a}way")
    #expect(try words(#"{"kind":"cancelled","cancelReason":"user"}"#) == "cancelled: user")
  }
}

@Suite("Header lines and the sources of values")
struct HeaderSourcesTests {
  @Test("lines like Name: value; blank ones count for nothing")
  func lines() throws {
    let headers = try HeaderLines(lines: "A: 1\r\n\n  \nB:x:y \nC:\n", from: "stdin")
    #expect(headers.map(\.name) == ["A", "B", "C"])
    #expect(headers.map(\.value) == ["1", "x:y", ""])
  }

  @Test(
    "D38: a value in an argument is refused and not repeated", arguments: ["A: hunter2", "A=hunter2", "A:=-"])
  func refused(_ operand: String) {
    let failure = #expect(throws: Failure.self) { try HeaderSources.read([operand]) }
    #expect(failure?.status == Status.usage)
    #expect(failure?.message.contains("hunter2") == false)
  }
}
