import JSONText
import Testing

@testable import QueueModel

@Suite("Same id, again")
struct SameIDTests {
  struct Case: Sendable {
    var rule: String
    var state: Entry.State
    var same: SameID
    var different: SameID
  }

  static let states: [Case] = [
    Case(rule: "queued", state: .queued(.init(due: 0)), same: .resume, different: .replace),
    Case(rule: "backoff", state: .queued(.init(due: 9, isBackoff: true)), same: .resume, different: .replace),
    Case(rule: "parked", state: .awaitingAuth(revision: 0), same: .resume, different: .replace),
    Case(
      rule: "running", state: .running(.init(ordinal: 1, requestID: "r", headerRevision: 0)), same: .resume,
      different: .refuseRunning),
    Case(rule: "error", state: .settled(.error, eventID: "o"), same: .reopen, different: .replace),
    Case(rule: "cancelled", state: .settled(.cancelled, eventID: "o"), same: .replace, different: .replace),
    Case(
      rule: "completed", state: .settled(.completed, eventID: "o"), same: .redeliver(eventID: "o"),
      different: .replace),
  ]

  @Test("B211 to B221, D8: what the same and another body do to an entry in each state", arguments: states)
  func table(_ row: Case) throws {
    var existing = try Entry.sample(.sample(#""data":{"a":1}"#))
    existing.state = row.state
    let stored = try json(#"{"a":1}"#)
    let same = try Enqueue.sample(.sample(#""data":{"a":1}"#))
    let different = try Enqueue.sample(.sample(#""data":{"a":2}"#))
    #expect(SameID.rule(for: same, existing: existing, storedData: stored, sourceStamps: nil) == row.same)
    #expect(
      SameID.rule(for: different, existing: existing, storedData: stored, sourceStamps: nil) == row.different)
  }

  @Test("section 5: an id that nobody has creates")
  func create() throws {
    #expect(SameID.rule(for: try .sample(), existing: nil, storedData: nil, sourceStamps: nil) == .create)
  }

  @Test("B136: which rules stage a body")
  func needsBody() {
    #expect(SameID.create.needsBody)
    #expect(SameID.replace.needsBody)
    for rule in [SameID.resume, .reopen, .redeliver(eventID: "o"), .refuseRunning] {
      #expect(!rule.needsBody)
    }
  }

  struct Pair: Sendable, CustomTestStringConvertible {
    var rule: String
    var stored: String
    var incoming: String
    var isSame: Bool
    var storedURL = "https://h.test/x"
    var incomingURL = "https://h.test/x"
    var testDescription: String { "\(rule): \(stored) | \(incoming)" }
  }

  static let pairs: [Pair] = [
    Pair(rule: "none", stored: "", incoming: "", isSame: true),
    Pair(rule: "none and data", stored: "", incoming: #""data":null"#, isSame: false),
    Pair(
      rule: "key order", stored: #""data":{"a":1,"b":[1]}"#, incoming: #""data": {"b":[1], "a":1}"#,
      isSame: true),
    Pair(rule: "number text", stored: #""data":{"a":1}"#, incoming: #""data":{"a":1.0}"#, isSame: false),
    Pair(rule: "array order", stored: #""data":[1,2]"#, incoming: #""data":[2,1]"#, isSame: false),
    Pair(rule: "null member", stored: #""data":{"a":null}"#, incoming: #""data":{}"#, isSame: false),
    Pair(rule: "escapes", stored: #""data":"\u0041""#, incoming: #""data":"A""#, isSame: true),
    Pair(
      rule: "url", stored: #""data":1"#, incoming: #""data":1"#, isSame: false,
      incomingURL: "https://h.test/y"),
    Pair(
      rule: "url spelling", stored: #""data":1"#, incoming: #""data":1"#, isSame: true,
      incomingURL: "HTTPS://H.test/x"),
    Pair(rule: "method", stored: #""data":1"#, incoming: #""data":1,"method":"PUT""#, isSame: false),
    Pair(
      rule: "not identity", stored: #""data":1"#,
      incoming:
        #""data":1,"headers":{"X-A":"1"},"expiresAt":1,"retry":{},"accept":[{"status":409}],"#
        + #""priority":"high","#
        + #""wifiOnly":true,"timeouts":{},"idempotencyKey":"k""#, isSame: true),
    Pair(rule: "file", stored: #""file":"/a""#, incoming: #""file":"/a""#, isSame: true),
    Pair(rule: "file path", stored: #""file":"/a""#, incoming: #""file":"/b""#, isSame: false),
    Pair(rule: "file URL", stored: #""file":"/a b""#, incoming: #""file":"file:///a%20b""#, isSame: true),
    Pair(
      rule: "file, normalised differently", stored: #""file":"/\u00e9""#, incoming: #""file":"/e\u0301""#,
      isSame: false),
    Pair(
      rule: "form", stored: #""form":[{"name":"a","contentType":"t","string":"x"}]"#,
      incoming: #""form":[{"contentType":"t","string":"x","name":"a"}]"#, isSame: true),
    Pair(
      rule: "form name", stored: #""form":[{"name":"a","contentType":"t","string":"x"}]"#,
      incoming: #""form":[{"name":"b","contentType":"t","string":"x"}]"#, isSame: false),
    Pair(
      rule: "form type", stored: #""form":[{"name":"a","contentType":"t","string":"x"}]"#,
      incoming: #""form":[{"name":"a","contentType":"u","string":"x"}]"#, isSame: false),
    Pair(
      rule: "form string", stored: #""form":[{"name":"a","contentType":"t","string":"x"}]"#,
      incoming: #""form":[{"name":"a","contentType":"t","string":"y"}]"#, isSame: false),
    Pair(
      rule: "form kind", stored: #""form":[{"name":"a","contentType":"t","string":"/x"}]"#,
      incoming: #""form":[{"name":"a","contentType":"t","path":"/x"}]"#, isSame: false),
    Pair(
      rule: "form file name", stored: #""form":[{"name":"a","contentType":"t","path":"/x"}]"#,
      incoming: #""form":[{"name":"a","contentType":"t","path":"/x","fileName":"x"}]"#, isSame: false),
    Pair(
      rule: "form count", stored: #""form":[{"name":"a","contentType":"t","string":"x"}]"#,
      incoming:
        #""form":[{"name":"a","contentType":"t","string":"x"},{"name":"a","contentType":"t","string":"x"}]"#,
      isSame: false),
    Pair(rule: "kinds", stored: #""file":"/a""#, incoming: #""data":"/a""#, isSame: false),
  ]

  @Test("D5, B129, B130, B213: what makes a body the same", arguments: pairs)
  func identity(_ pair: Pair) throws {
    let original = try Descriptor.sample(pair.stored, url: pair.storedURL)
    let stored = try Descriptor(stored: JSON(checking: original.storedText), kind: original.body.kind)
    var storedData: JSON?
    if case .data(let data) = original.body { storedData = data }
    let existing = try Entry.sample(stored)
    let incoming = try Enqueue.sample(.sample(pair.incoming, url: pair.incomingURL))
    let rule = SameID.rule(for: incoming, existing: existing, storedData: storedData, sourceStamps: nil)
    #expect(rule == (pair.isSame ? .resume : .replace))
  }

  @Test("D5: a source that still is a file compares by size and time too; one that is gone by its path alone")
  func stamps() throws {
    let request = try Descriptor.sample(#""file":"/a""#)
    var existing = try Entry.sample(request)
    let staged = SourceStamp(size: 5, modifiedAt: 6)
    existing.body.sources = [staged]
    let incoming = try Enqueue.sample(request)
    func rule(_ stamps: [SourceStamp?]?) -> SameID {
      SameID.rule(for: incoming, existing: existing, storedData: nil, sourceStamps: stamps)
    }
    #expect(rule([staged]) == .resume)
    #expect(rule([nil]) == .resume)
    #expect(rule(nil) == .resume)
    #expect(rule([SourceStamp(size: 6, modifiedAt: 6)]) == .replace)
    #expect(rule([SourceStamp(size: 5, modifiedAt: 7)]) == .replace)
    #expect(rule([staged, staged]) == .replace)
  }

  @Test("D28: a body whose source is gone is the one that the entry owns, also for another URL")
  func ownedBody() throws {
    let existing = try Entry.sample(.sample(#""file":"/a""#))
    #expect(existing.ownsBody(of: try .sample(#""file":"/a""#, url: "https://h.test/y")))
    #expect(!existing.ownsBody(of: try .sample(#""file":"/b""#)))
    #expect(!existing.ownsBody(of: try .sample(#""data":1"#)))
    let cancelled = existing.cancelled(now: .start, randomness: CountingBits()).entry
    #expect(!cancelled.ownsBody(of: try .sample(#""file":"/a""#)))
  }
}
