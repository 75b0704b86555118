import Testing

@testable import QueueModel

@Suite("Entries in parts: what becomes of them")
struct PartLifeTests {
  private let host = Origin(text: "http://h.test:80")

  @Test("B265, A-AUTH-04: a 401 parks all of it, keeps what was accepted, and a patch sends the rest")
  func parks() throws {
    var chunked = try Chunked([1, 1, 1, 1])
    chunked.startAll()
    try chunked.finish(0, .answer(200))
    chunked.startAll()
    let decision = try chunked.finish(2, .answer(401))
    #expect(decision.effectNames == ["stop", "stop", "attempt", "state"])
    #expect(chunked.standing == "awaiting-auth")
    #expect(chunked.entry.bytesSent == 1)
    chunked.gates.add(patch("new"))
    #expect(chunked.standing == "queued")
    #expect(Set(chunked.startAll()) == [1, 2, 3])
    let sent = chunked.entry.transmission(
      part: 2, chunked.plan[2], gates: chunked.gates, timeouts: Timeouts(), outgoing: .none)
    #expect(sent.headers["a"] == "new")
  }

  @Test("B265: a 401 under headers that are older by now sends only that part again")
  func reissues() throws {
    var chunked = try Chunked([1, 1, 1])
    chunked.startAll()
    chunked.gates.add(patch("new"))
    let decision = try chunked.finish(1, .answer(401))
    #expect(decision.effectNames == ["attempt"])
    #expect(chunked.inFlight == [0, 2])
    #expect(chunked.startAll() == [1])
    try chunked.finish(1, .answer(401))
    #expect(chunked.standing == "awaiting-auth", "these headers were the newest")
  }

  @Test("D38, B265: a patch for one origin reaches the parts that go there, and no others")
  func patchOfOrigin() throws {
    let entry = try Chunked([1]).entry
    var gates = Gates()
    var secret = patch("secret")
    secret.origin = Origin(text: "http://other.test:80")
    gates.add(secret)
    let ours = try part(url: "http://h.test/0"), theirs = try part(url: "http://other.test/0")
    #expect(gates.headers(for: entry, part: ours)["a"] == nil)
    #expect(gates.headers(for: entry, part: theirs)["a"] == "secret")
  }

  @Test("B265, D38: a late acceptance elsewhere leaves an entry that is parked to the origin that refused it")
  func lateWhileParked() throws {
    var chunked = try Chunked([1, 1])
    chunked.plan[1] = try part(url: "http://other.test/1")
    chunked.startAll()
    let late = try chunked.attempt(1)
    try chunked.finish(0, .answer(401))
    #expect(chunked.standing == "awaiting-auth")
    #expect(try #require(try chunked.finish(late, .answer(200))).attemptEvent?.url == "http://other.test/1")
    #expect(chunked.entry.bytesSent == 1)
    var fresh = patch("fresh")
    fresh.origin = Origin(text: "http://h.test:80")
    chunked.gates.add(fresh)
    #expect(chunked.standing == "queued")
    #expect(chunked.startAll() == [0])
  }

  private func part(url: String) throws -> PartRequest {
    PartRequest(url: try RequestURL(reading: url, path: "u"), headers: HeaderFields(), range: 0..<1)
  }

  private func patch(_ value: String) -> HeaderPatch {
    var headers = HeaderFields()
    headers.set("a", value)
    return HeaderPatch(number: 0, headers: headers, keys: nil, origin: nil)
  }

  @Test("B254, B255, A-URL-08, D19: part headers go over the entry's, patches over both, keys differ by part")
  func headers() throws {
    var chunked = try Chunked([1, 1], #","headers":{"Authorization":"b","X-E":"e"}"#)
    var own = HeaderFields()
    own.set("AUTHORIZATION", "c")
    chunked.plan[1] = PartRequest(url: chunked.plan[1].url, headers: own, range: 1..<2)
    chunked.startAll()
    func fields(_ index: Int, _ gates: Gates) -> [String] {
      let sent = chunked.entry.transmission(
        part: index, chunked.plan[index], gates: gates, timeouts: Timeouts(), outgoing: .none)
      return sent.headers.fields.map { "\($0.name): \($0.value)" }
    }
    #expect(fields(0, Gates()) == ["Authorization: b", "X-E: e", "X-Request-Id: r1"])
    #expect(fields(1, Gates()) == ["AUTHORIZATION: c", "X-E: e", "X-Request-Id: r2"])
    var gates = Gates()
    var newer = HeaderFields()
    newer.set("authorization", "d")
    gates.add(HeaderPatch(number: 0, headers: newer, keys: nil, origin: nil))
    #expect(fields(1, gates) == ["authorization: d", "X-E: e", "X-Request-Id: r2"])
  }

  @Test("D19: each part of a POST has an Idempotency-Key of its own, which stays over retries")
  func idempotencyKeys() throws {
    for (more, prefix) in [("", nil), (#","idempotencyKey":"mine""#, "mine")] as [(String, String?)] {
      var chunked = try Chunked([1, 1], more)
      chunked.entry.idempotencyKey = "auto"
      func key(_ index: Int) -> String? {
        chunked.entry.transmission(
          part: index, chunked.plan[index], gates: Gates(), timeouts: Timeouts(), outgoing: .none
        ).headers["idempotency-key"]
      }
      chunked.startAll()
      let first = key(0)
      #expect(first == "\(prefix ?? "auto")-0")
      #expect(key(1) == "\(prefix ?? "auto")-1")
      try chunked.finish(0, .answer(503))
      chunked.now = chunked.now.after(1000)
      chunked.startAll()
      #expect(key(0) == first)
    }
  }

  @Test("B266: a pause stops what is in flight, keeps what was accepted and a backoff; then the rest goes")
  func pause() throws {
    var chunked = try Chunked([1, 1, 1, 1])
    chunked.startAll()
    try chunked.finish(0, .answer(200))
    try chunked.finish(1, .answer(503))
    chunked.startAll()
    chunked.gates.paused = true
    chunked.take(chunked.entry.stopped(now: chunked.now))
    #expect(chunked.lastDecision?.effectNames == ["stop", "stop", "state"])
    #expect(chunked.standing == "paused")
    #expect(chunked.startAll().isEmpty)
    chunked.gates.paused = false
    #expect(chunked.startAll() == [2, 3])
    #expect(chunked.entry.bytesSent == 1)
  }

  @Test("D35: a start finds parts in flight, queues them and sends them again; accepted ones stay")
  func orphaned() throws {
    var chunked = try Chunked([1, 1, 1])
    chunked.startAll()
    try chunked.finish(0, .answer(200))
    chunked.take(chunked.entry.orphaned(now: chunked.now))
    #expect(chunked.lastDecision?.effectNames == ["state"])
    #expect(chunked.startAll() == [1, 2])
    #expect(chunked.entry.attempts == 5)
  }

  @Test("B260, D7: the same parts again start nothing twice, keep what was accepted and end waits")
  func resumed() throws {
    var chunked = try Chunked([1, 1, 1, 1])
    chunked.startAll()
    try chunked.finish(0, .answer(200))
    try chunked.finish(1, .answer(503))
    let flying = chunked.entry.attemptsInFlight
    #expect(try chunked.enqueueAgain() == .resume)
    #expect(chunked.entry.attemptsInFlight == flying)
    #expect(chunked.entry.bytesSent == 1)
    #expect(chunked.entry.generation == 1)
    #expect(chunked.startAll() == [1, 3])
    let reissued = try chunked.finish(2, .answer(401))
    #expect(reissued.effectNames == ["attempt"], "its headers were older")
  }

  @Test("B259, B261: other parts are refused while any is in flight, and replace the plan otherwise")
  func replaced() throws {
    var chunked = try Chunked([1, 1, 1])
    chunked.startAll()
    #expect(try chunked.enqueueAgain([2, 1]) == .refuseRunning)
    let late = try chunked.attempt(0)
    try chunked.finish(1, .answer(200))
    try chunked.finish(2, .answer(400))
    #expect(try chunked.enqueueAgain([2, 1]) == .replace)
    #expect(chunked.entry.generation == 2 && chunked.entry.attempts == 0 && chunked.entry.bytesSent == 0)
    #expect(chunked.entry.body.length == 3, "B258: over the bytes that it owns")
    #expect(try chunked.finish(late, .answer(200)) == nil, "B268")
    #expect(chunked.startAll() == [0, 1])
    #expect(try chunked.finish(late, .answer(200)) == nil, "B268")
  }

  @Test("D5, B131: urls and ranges make the plan, in order; headers do not")
  func sameBody() throws {
    let chunked = try Chunked([1, 2])
    func rule(_ json: String) throws -> SameID {
      let request = try Descriptor(reading: QueueModelTests.json(json))
      return SameID.rule(
        for: try .sample(request), existing: chunked.entry, storedData: nil, storedParts: chunked.plan,
        sourceStamps: nil)
    }
    func text(_ first: String, _ second: String, method: String = "PUT", file: String = "/a") -> String {
      #"{"method":"\#(method)","file":"\#(file)","parts":[\#(first),\#(second)]}"#
    }
    let one = #"{"url":"http://h.test/0","range":{"start":0,"end":1}}"#
    let two = #"{"url":"http://h.test/1","headers":{"A":"b"},"range":{"start":1,"end":3}}"#
    #expect(try rule(text(one, two)) == .resume)
    #expect(try rule(text(one, two, file: "/elsewhere")) == .resume)
    #expect(try rule(text(one, two, method: "POST")) == .replace)
    #expect(try rule(text(one, two.replacingOccurrences("3}", "4}"))) == .replace)
    #expect(try rule(text(one, two.replacingOccurrences("/1", "/2"))) == .replace)
    #expect(try rule(#"{"method":"PUT","file":"/a","parts":[\#(one)]}"#) == .replace)
    #expect(try rule(#"{"method":"PUT","url":"http://h.test/0","file":"/a"}"#) == .replace)
  }

  @Test("B271: a late acceptance after an error is kept; if it was the last one, a reopen completes")
  func lateAcceptance() throws {
    var chunked = try Chunked([1, 1])
    chunked.startAll()
    let late = try chunked.attempt(0)
    try chunked.finish(1, .answer(400))
    let recorded = try #require(try chunked.finish(late, .answer(200)))
    #expect(recorded.effects.isEmpty && recorded.outcome == nil)
    #expect(chunked.standing == "error")
    #expect(chunked.entry.bytesSent == 1)
    #expect(try chunked.finish(late, .answer(200)) == nil, "a second answer to it")
    #expect(try chunked.enqueueAgain() == .reopen)
    #expect(chunked.startAll() == [1])
    let lateAgain = try chunked.attempt(1)
    chunked.take(chunked.entry.stopped(now: chunked.now))
    chunked.entry.state = .settled(.error, eventID: "e")
    try chunked.finish(lateAgain, .answer(200))
    #expect(try chunked.enqueueAgain() == .reopen)
    #expect(chunked.standing == "completed")
    let outcome = try #require(chunked.lastDecision?.outcome)
    #expect(outcome.partIndex == 1 && outcome.url == "http://h.test/1" && outcome.bytesSent == 2)
  }

  @Test(
    "B241, B266: an acceptance that lands while paused counts, and completes the last; a failure does not")
  func lateWhilePaused() throws {
    var chunked = try Chunked([1, 1])
    chunked.startAll()
    let attempts = [try chunked.attempt(0), try chunked.attempt(1)]
    chunked.gates.paused = true
    chunked.take(chunked.entry.stopped(now: chunked.now))
    #expect(try chunked.finish(attempts[0], .answer(400)) == nil)
    #expect(try #require(try chunked.finish(attempts[0], .answer(200))).effectNames == ["attempt", "state"])
    #expect(chunked.entry.bytesSent == 1)
    #expect(try #require(try chunked.finish(attempts[1], .answer(200))).outcome != nil)
    #expect(chunked.standing == "completed")
  }

  @Test("Section 1: a late acceptance is void once a newer attempt of the part has begun, or it is cancelled")
  func voidAcceptance() throws {
    var chunked = try Chunked([1, 1])
    chunked.startAll()
    let late = try chunked.attempt(0)
    chunked.take(chunked.entry.stopped(now: chunked.now))
    chunked.startAll()
    #expect(try chunked.finish(late, .answer(200)) == nil)
    let newer = try chunked.attempt(0)
    chunked.take(chunked.entry.cancelled(now: chunked.now, randomness: CountingBits()))
    #expect(chunked.lastDecision?.effectNames == ["stop", "stop", "progress", "state"])
    #expect(try chunked.finish(newer, .answer(200)) == nil, "B267")
  }

  @Test("D4: at the deadline no part is interrupted and none begins; the last one in flight lets it expire")
  func expiry() throws {
    var chunked = try Chunked([1, 1, 1, 1, 1], #","expiresAt":\#(Moment.start.wall + 500)"#)
    chunked.startAll()
    chunked.now = chunked.now.after(500)
    try chunked.finish(0, .answer(200))
    #expect(chunked.startAll().isEmpty)
    #expect(chunked.entry.state == .sending(next: nil))
    #expect(chunked.entry.expired(now: chunked.now, randomness: CountingBits()).outcome == nil)
    try chunked.finish(1, .answer(503))
    #expect(chunked.standing == "running")
    let outcome = try #require(try chunked.finish(2, .answer(503)).outcome)
    guard case .error(.expired, let message, _) = outcome.settlement else { return #expect(Bool(false)) }
    #expect(message == "expiresAt has passed; last: HTTP 503 on part 2")
  }

  @Test("D4: an entry that was due to send one more gives that up at its deadline")
  func heldAtDeadline() throws {
    var chunked = try Chunked([1, 1, 1, 1], #","expiresAt":\#(Moment.start.wall + 500)"#)
    chunked.atOnce = 2
    chunked.startAll()
    try chunked.finish(0, .answer(200))
    #expect(chunked.entry.state == .sending(next: 0))
    let decision = chunked.entry.expired(now: chunked.now.after(500), randomness: CountingBits())
    #expect(decision.entry.state == .sending(next: nil))
    #expect(decision.effects.isEmpty)
  }

  @Test("B272: reopened after an error it keeps what was accepted and forgets every failure")
  func reopened() throws {
    var chunked = try Chunked([1, 1, 1])
    chunked.startAll()
    try chunked.finish(0, .answer(200))
    try chunked.finish(1, .answer(503))
    try chunked.finish(2, .answer(400))
    #expect(try chunked.enqueueAgain() == .reopen)
    #expect(chunked.entry.bytesSent == 1 && chunked.entry.attempts == 0 && chunked.entry.generation == 2)
    #expect(chunked.startAll() == [1, 2])
    try chunked.finish(1, .answer(503))
    #expect(chunked.entry.state == .sending(next: chunked.now.steady + 1000), "the first of a new row")
  }

  @Test("D16: a part that could not be sent is woken by the end of the outage, once all of it waits")
  func outage() throws {
    var chunked = try Chunked([1, 1])
    chunked.gates.outages[host] = Outage(number: 1, since: 0)
    chunked.startAll()
    try chunked.finish(0, .failure(.beforeRequest))
    try chunked.finish(1, .failure(.beforeRequest))
    #expect(chunked.entry.wait?.outage == 1)
    #expect(chunked.startAll().isEmpty)
    chunked.gates.outages[host]?.endedAt = chunked.now.steady - Gates.outageSpreadMs
    #expect(chunked.startAll().count == 2)
  }

  @Test("B146: a part whose request is lost ends the entry and says so, and stops the others")
  func damaged() throws {
    var chunked = try Chunked([1, 1])
    chunked.startAll()
    let decision = chunked.entry.damaged(part: 1, now: chunked.now, randomness: CountingBits())
    #expect(decision.effectNames == ["stop", "stop", "state"])
    guard case .error(.unknown, let message, nil)? = decision.outcome?.settlement else {
      return #expect(Bool(false))
    }
    #expect(message.contains("part 1") && decision.outcome?.partIndex == 1)
  }

  @Test("D28: what an entry owns serves for other parts, and for the whole file under the same path")
  func ownsBody() throws {
    let chunked = try Chunked([1, 2]).entry
    #expect(chunked.ownsBody(of: try .parts([3])))
    #expect(chunked.ownsBody(of: try .sample(#""file":"/a""#)))
    #expect(!chunked.ownsBody(of: try .sample(#""file":"/b""#)))
    #expect(!chunked.ownsBody(of: try .sample()))
    let whole = try Entry.sample(.sample(#""file":"/a""#))
    #expect(whole.ownsBody(of: try .parts([7])))
    var gone = chunked
    gone.body.place = .none
    #expect(!gone.ownsBody(of: try .parts([3])))
  }
}

extension String {
  fileprivate func replacingOccurrences(_ old: String, _ new: String) -> String {
    guard let found = firstRange(of: old) else { return self }
    return self[..<found.lowerBound] + new + self[found.upperBound...]
  }

  private func firstRange(of text: String) -> Range<Index>? {
    indices.lazy.filter { self[$0...].hasPrefix(text) }.first.map {
      $0..<self.index($0, offsetBy: text.count)
    }
  }
}
