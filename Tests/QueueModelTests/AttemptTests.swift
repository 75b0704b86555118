import Testing

@testable import QueueModel

@Suite("Attempts: begin, send, stop")
struct AttemptTests {
  @Test("D3, B208: an attempt counts when it begins, with its own request id and no bytes")
  func started() throws {
    var entry = try Entry.sample()
    entry.bytesSent = 5
    let decision = entry.started(requestID: "r1", gates: Gates(), now: Moment.start.after(10))
    #expect(decision.entry.attempts == 1)
    #expect(decision.entry.bytesSent == 0)
    #expect(decision.entry.lastRequestID == "r1")
    #expect(decision.entry.updatedAt == Moment.start.wall + 10)
    #expect(decision.entry.state == .running(.init(ordinal: 1, requestID: "r1", headerRevision: 0)))
    #expect(decision.entry.attemptInFlight == AttemptID(entry: 7, generation: 1, ordinal: 1))
    #expect(decision.effectNames == ["state"])
  }

  @Test("B194, B247, D4, D34: nothing begins past the deadline, under a pause or without Wi-Fi")
  func notStarted() throws {
    let entry = try Entry.sample()
    func begins(_ gates: Gates, _ now: Moment = .start) -> Bool {
      entry.started(requestID: "r", gates: gates, now: now).entry.attemptInFlight != nil
    }
    #expect(begins(Gates(), Moment.start.after(lifetimeMs - 1)))
    #expect(!begins(Gates(), Moment.start.after(lifetimeMs)))
    var gates = Gates()
    gates.paused = true
    #expect(!begins(gates))
    gates.paused = false
    gates.pausedKeys = [EntryKey("k")]
    #expect(!begins(gates))
    gates.pausedKeys = [EntryKey("other")]
    #expect(begins(gates))
    gates.wifiOnly = true
    gates.network = Network(kind: .cellular)
    #expect(!begins(gates))
  }

  @Test("B251: who waits for credentials begins only once a covering patch let it go")
  func released() throws {
    var entry = try Entry.sample()
    entry.state = .awaitingAuth(revision: 0)
    var gates = Gates()
    #expect(entry.started(requestID: "r", gates: gates, now: .start).entry.attemptInFlight == nil)
    gates.add(HeaderPatch(number: 0, headers: HeaderFields(), keys: nil, origin: nil))
    let started = entry.started(requestID: "r", gates: gates, now: .start).entry
    #expect(started.state == .running(.init(ordinal: 1, requestID: "r", headerRevision: 1)))
  }

  private func sent(_ members: String, contentType: String? = nil, gates: Gates = Gates()) throws
    -> HeaderFields
  {
    var entry = try Entry.sample(.sample(members))
    entry.body.contentType = contentType ?? entry.body.contentType
    return entry.running("r1").transmission(gates: gates, timeouts: Timeouts(), outgoing: .none).headers
  }

  @Test("B132, B227, 4.7: JSON gets its content type unless the caller set one, in any case")
  func contentTypeOfData() throws {
    #expect(try sent(#""data":1"#)["Content-Type"] == "application/json")
    let own = try sent(#""data":1,"headers":{"content-type":"application/x"}"#)
    #expect(own["Content-Type"] == "application/x")
    #expect(own.fields.map(\.name).filter { $0.lowercased() == "content-type" } == ["content-type"])
    #expect(try sent("")["Content-Type"] == nil)
    #expect(try sent(#""file":"/a""#)["Content-Type"] == nil)
  }

  @Test("B135: a form always has the type that holds our boundary")
  func contentTypeOfForm() throws {
    let members = #""form":[{"name":"a","contentType":"t","string":"x"}],"headers":{"content-type":"mine"}"#
    let type = "multipart/form-data; boundary=b"
    #expect(try sent(members, contentType: type)["Content-Type"] == type)
  }

  @Test("D19: X-Request-Id is the attempt's and overwrites the caller's")
  func requestID() throws {
    let headers = try sent(#""headers":{"x-request-id":"mine"}"#)
    #expect(headers.fields.filter { $0.name.lowercased() == "x-request-id" }.map(\.value) == ["r1"])
  }

  @Test("D19: Idempotency-Key on POST and PATCH, unless the caller set one or asked for none")
  func idempotencyKey() throws {
    for method in HTTPMethod.allCases {
      let key = try sent(#""method":"\#(method.rawValue)""#)["Idempotency-Key"]
      #expect((key != nil) == [.post, .patch].contains(method))
      #expect(try sent(#""method":"\#(method.rawValue)","idempotencyKey":"k1""#)["Idempotency-Key"] == "k1")
    }
    #expect(try sent(#""idempotencyKey":false"#)["Idempotency-Key"] == nil)
    #expect(try sent(#""headers":{"idempotency-key":"mine"}"#)["Idempotency-Key"] == "mine")
    #expect(
      try sent(#""headers":{"idempotency-key":"mine"},"idempotencyKey":"k1""#)["Idempotency-Key"] == "mine")
  }

  @Test("D1, D19: patches go out too; one may set the Idempotency-Key")
  func patched() throws {
    var gates = Gates()
    let headers = try HeaderFields(
      reading: json(#"{"AUTHORIZATION":"new","Idempotency-Key":"p","X-Request-Id":"no"}"#), path: "h")
    gates.add(HeaderPatch(number: 0, headers: headers, keys: nil, origin: nil))
    let sent = try sent(#""headers":{"Authorization":"old"}"#, gates: gates)
    #expect(sent["Authorization"] == "new")
    #expect(sent["Idempotency-Key"] == "p")
    #expect(sent["X-Request-Id"] == "r1")
  }

  @Test("B177: method, URL, body and the entry's time-outs over those of configure")
  func transmission() throws {
    let entry = try Entry.sample(.sample(#""method":"PUT","timeouts":{"stallMs":7}"#)).running("r1")
    let sent = entry.transmission(gates: Gates(), timeouts: Timeouts(), outgoing: .bytes([1]))
    #expect(sent.attempt == entry.attemptInFlight)
    #expect(sent.method == .put)
    #expect(sent.url.text == "https://h.test/x")
    #expect(sent.body.length == 1)
    #expect(sent.timeouts.stallMs == 7)
    #expect(sent.timeouts.connectMs == 30_000)
  }

  @Test("B238, D1: a pause stops the attempt without an attempt event and keeps what was counted")
  func stopped() throws {
    var entry = try Entry.sample().running()
    entry.failures.streak = 4
    let decision = entry.stopped(now: Moment.start.after(5))
    #expect(decision.effectNames == ["stop", "state"])
    #expect(decision.entry.wait == .init(due: Moment.start.steady + 5))
    #expect(decision.entry.failures.streak == 4)
    #expect(decision.entry.attempts == 1)
    #expect(decision.outcome == nil)
  }

  @Test("A-RETRY-10: an entry found running at the start is sent again, as a new attempt")
  func orphaned() throws {
    let entry = try Entry.sample().running()
    let decision = entry.orphaned(now: Moment.start.after(5))
    #expect(decision.entry.wait == .init(due: Moment.start.steady + 5))
    #expect(decision.entry.running("r2").attempts == 2)
  }
}
