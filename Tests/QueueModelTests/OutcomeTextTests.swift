import JSONText
import Testing

@testable import QueueModel

@Suite("Outcomes and attempt events as text")
struct OutcomeTextTests {
  private func outcome(_ settlement: Outcome.Settlement, requestID: String? = "r1") throws -> Outcome {
    Outcome(
      eventID: "ev", entry: 7, id: EntryID("e"), key: EntryKey("k"),
      vars: try json(#"{ "b":1.0, "a":null }"#), at: 5,
      generation: 2, attempts: 3, requestID: requestID, bytesSent: 6, totalBytes: 7, url: "https://h/x",
      method: .put,
      partIndex: nil, settlement: settlement)
  }

  private func text(_ outcome: Outcome) -> String {
    JSON { outcome.write(into: &$0, deliveries: 4) }.description
  }

  private static let head =
    #"{"eventId":"ev","id":"e","key":"k","vars":{ "b":1.0, "a":null },"at":5,"generation":2,"attempts":3,"#

  @Test("B279: a completed outcome")
  func completed() throws {
    let response = ResponseRecord(
      status: 201, headers: [("a", "b"), ("set-cookie", "x\ny")], body: .text("{}"), bodyTruncated: true)
    #expect(
      try text(outcome(.completed(response)))
        == Self.head
        + #""requestId":"r1","state":"completed","bytesSent":6,"totalBytes":7,"url":"https://h/x","#
        + #""method":"PUT","kind":"completed","response":{"status":201,"#
        + #""headers":{"a":"b","set-cookie":"x\ny"},"body":"{}","#
        + #""bodyTruncated":true},"deliveries":4}"#)
  }

  @Test("B279: an error, with and without an answer; absent values are left out")
  func error() throws {
    #expect(
      try text(outcome(.error(kind: .expired, message: "m", response: nil), requestID: nil))
        == Self.head + #""state":"error","bytesSent":6,"totalBytes":7,"url":"https://h/x","method":"PUT","#
        + #""kind":"error","error":{"errorKind":"expired","message":"m"},"deliveries":4}"#)
    let response = ResponseRecord(status: 400)
    #expect(
      try text(outcome(.error(kind: .http, message: "m", response: response)))
        .contains(#""message":"m","response":{"status":400,"bodyTruncated":false}}"#))
  }

  @Test("B279: a cancel")
  func cancelled() throws {
    #expect(
      try text(outcome(.cancelled(reason: "user"))).hasSuffix(
        #""kind":"cancelled","cancelReason":"user","deliveries":4}"#))
  }

  @Test("A-RESP-08, D31: bytes that are no UTF-8 come as base64")
  func base64() throws {
    var answer = Answer(status: 200)
    answer.body = [0x61, 0xFF, 0xFE, 0x62]
    #expect(try text(outcome(.completed(ResponseRecord(answer)))).contains(#""bodyBase64":"Yf/+Yg==""#))
    for bytes in [[], [0], [0, 1], [0xFB, 0xFF, 0xFE], [1, 2, 3, 4]] as [[UInt8]] {
      #expect(Base64.decoded(Base64.encoded(bytes)) == bytes)
    }
    #expect(Base64.encoded(Array("foobar".utf8)) == "Zm9vYmFy")
    for wrong in ["A", "AA", "A===", "A*==", "AAA"] { #expect(Base64.decoded(wrong) == nil) }
  }

  @Test(
    "D31: a body that was cut inside a character loses the rest of it; a whole one is never cut",
    arguments: [0, 1, 2, 3])
  func cutCharacter(kept: Int) {
    let emoji = Array("😀".utf8)
    var answer = Answer(status: 200)
    answer.body = Array("aé".utf8) + emoji.prefix(kept)
    for completeness in [Answer.Completeness.cut, .capped] {
      answer.completeness = completeness
      #expect(ResponseRecord(answer).body == .text("aé"))
      #expect(ResponseRecord(answer).bodyTruncated)
    }
    answer.completeness = .whole
    #expect(ResponseRecord(answer).body == (kept == 0 ? .text("aé") : .bytes(answer.body)))
  }

  @Test("D31: a cut between characters loses none", arguments: ["a", "aé", "a日", "a😀", "日", "😀"])
  func cutBetweenCharacters(text: String) {
    var answer = Answer(status: 200, completeness: .cut)
    answer.body = Array(text.utf8)
    #expect(ResponseRecord(answer).body == .text(text))
  }

  @Test("D31: an empty body is absent")
  func emptyBody() {
    #expect(ResponseRecord(Answer(status: 204)).body == nil)
  }

  @Test("B144, B274: what is stored reads back the same, vars byte for byte")
  func roundTrip() throws {
    let response = ResponseRecord(
      status: 409, headers: [("b", "1"), ("a", "é")], body: .text("x\u{2028}y"), bodyTruncated: false)
    let binary = ResponseRecord(status: nil, body: .bytes([0xFF]), bodyTruncated: true)
    for settlement in [
      Outcome.Settlement.completed(response), .completed(binary),
      .error(kind: .http, message: "m", response: response),
      .error(kind: .network, message: "", response: nil), .cancelled(reason: "user"),
    ] {
      var original = try outcome(settlement)
      original.vars = try json("{\"a\":\"\u{2028}\u{7F}\",\n\"b\":1E5}")
      original.partIndex = 0
      let stored = try Outcome(stored: JSON(checking: original.storedText))
      #expect(stored.storedText == original.storedText)
      #expect(stored.vars == original.vars)
      #expect(stored.entry == 7)
      #expect(stored.partIndex == 0)
      #expect(text(stored) == text(original))
    }
  }

  @Test(
    "B146: a damaged record is refused by the member that is wrong",
    arguments: [
      ("{}", "stored.eventId"), (#"{"eventId":"e"}"#, "stored.entry"), (#"{"eventId":1}"#, "stored.eventId"),
    ])
  func damaged(text: String, path: String) throws {
    #expect(try refusedPath { _ = try Outcome(stored: json(text)) } == path)
  }

  private func event(_ result: AttemptResult) throws -> String {
    let decision = try Entry.sample(.sample(#""data":1,"accept":[{"status":409}]"#)).running("r1").finishing(
      result)
    let event = try #require(decision.attemptEvent)
    return JSON { event.write(into: &$0) }.description
  }

  private static let attempt =
    #"{"id":"e","key":"k","requestId":"r1","attempt":1,"url":"https://h.test/x","method":"POST","#

  @Test("B174: an accepted attempt, also by a rule")
  func acceptedEvent() throws {
    #expect(
      try event(.answer(409, "ok", headers: [("a", "b")]))
        == Self.attempt + #""outcome":"completed","httpCode":409,"responseBody":"ok","#
        + #""responseBodyTruncated":false,"responseHeaders":{"a":"b"},"at":1764500000000}"#)
  }

  @Test("B174: an answer that is not accepted is an error of kind http")
  func errorEvent() throws {
    #expect(
      try event(.answer(503))
        == Self.attempt + #""outcome":"error","httpCode":503,"errorKind":"http","errorMessage":"HTTP 503","#
        + #""at":1764500000000}"#)
  }

  @Test("B174, A-EARLY-05, A-CONN-09: a transport failure shows no status, even if there was one")
  func transportEvent() throws {
    #expect(
      try event(.failure(.afterRequestBegan, "reset"))
        == Self.attempt
        + #""outcome":"error","errorKind":"network","errorMessage":"reset","at":1764500000000}"#)
    #expect(try !event(.answer(407)).contains("httpCode"))
    #expect(try !event(.answer(200, "x", .cut)).contains("httpCode"))
  }

  @Test("B173, A-RESP-09: the body of an attempt event is cut at 4096 bytes, at a character")
  func longBody() throws {
    let whole = String(repeating: "a", count: 4096)
    #expect(try event(.answer(500, whole)).contains(#""responseBodyTruncated":false"#))
    let text = try event(.answer(500, String(repeating: "a", count: 4095) + "😀"))
    #expect(text.contains(#""responseBodyTruncated":true"#))
    #expect(text.contains("\"responseBody\":\"\(String(repeating: "a", count: 4095))\""))
    var binary = AttemptResult.answer(500)
    binary.answer?.body = Array(repeating: 0xFF, count: 5000)
    let prefix = Base64.encoded(Array(repeating: 0xFF, count: 4096))
    #expect(try event(binary).contains(#""responseBodyBase64":"\#(prefix)""#))
  }
}
