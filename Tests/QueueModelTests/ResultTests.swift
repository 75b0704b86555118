import Testing

@testable import QueueModel

@Suite("Results of attempts")
struct ResultTests {
  @Test("B179: an accepted result settles completed, with the whole count of bytes")
  func completed() throws {
    let decision = try Entry.sample().running().finishing(.answer(201, #"{"id":1}"#, headers: [("a", "b")]))
    #expect(decision.effectNames == ["progress", "attempt", "state"])
    let outcome = try #require(decision.outcome)
    #expect(outcome.attempts == 1)
    #expect(outcome.requestID == "r1")
    #expect(outcome.bytesSent == 7)
    #expect(outcome.totalBytes == 7)
    #expect(outcome.url == "https://h.test/x")
    #expect(outcome.at == Moment.start.wall)
    guard case .completed(let response) = outcome.settlement else {
      Issue.record("not completed")
      return
    }
    #expect(response.status == 201)
    #expect(response.body == .text(#"{"id":1}"#))
    #expect(!response.bodyTruncated)
    #expect(decision.attemptEvent?.result == .completed)
    #expect(!decision.releasesBody)
    #expect(decision.entry.bytesSent == 7)
  }

  @Test("D12, D31: an answer that is not all there settles completed and truncated")
  func truncated() throws {
    for completeness in [Answer.Completeness.capped, .unusable] {
      let outcome = try Entry.sample().running().finishing(.answer(200, "x", completeness)).outcome
      guard case .completed(let response) = outcome?.settlement else {
        Issue.record("not completed")
        return
      }
      #expect(response.bodyTruncated)
      #expect(response.status == 200)
    }
  }

  @Test("D12: four cut answers are tried again, the fifth in a row settles")
  func cutAnswers() throws {
    var entry = try Entry.sample()
    for ordinal in 1...5 {
      let decision = try entry.running("r\(ordinal)").finishing(.answer(200, "x", .cut))
      entry = decision.entry
      #expect((decision.outcome == nil) == (ordinal < 5))
      if ordinal < 5 { #expect(decision.attemptEvent?.answer == nil) }
    }
    var other = try Entry.sample()
    for result in [AttemptResult.answer(200, "x", .cut), .answer(503), .answer(200, "x", .cut)] {
      other = try other.running().finishing(result).entry
    }
    #expect(other.failures.cutAnswers == 1)
  }

  @Test("B182, D15: waits grow with consecutive failures and show")
  func backoff() throws {
    var policy = RetryPolicy()
    policy.backoff = Backoff(baseMs: 1000, maxMs: 5000, jitter: 0)
    var entry = try Entry.sample()
    for (ordinal, wait) in [1000, 2000, 4000, 5000, 5000].enumerated() {
      let decision = try entry.running("r\(ordinal)").finishing(.answer(503), policy: policy)
      entry = decision.entry
      #expect(entry.wait == .init(due: Moment.start.steady + Int64(wait), isBackoff: true))
      #expect(decision.effectNames == ["attempt", "state"])
      #expect(decision.attemptEvent?.result == .error(.http, message: "HTTP 503"))
    }
    #expect(entry.attempts == 5)
    #expect(entry.failures.streak == 5)
  }

  @Test("D15: jitter comes from the randomness given")
  func jitter() throws {
    let low = try Entry.sample().running().finishing(.answer(503), randomness: ListedBits([0]))
    #expect(low.entry.wait?.due == Moment.start.steady + 800)
    let high = try Entry.sample().running().finishing(.answer(503), randomness: ListedBits([.max]))
    #expect(try #require(high.entry.wait).due >= Moment.start.steady + 1199)
  }

  @Test(
    "D14: Retry-After waits at least the backoff, at most maxMs",
    arguments: [("2", 2000), ("0", 1000), ("1", 1000), ("99999999999999999999", 5000), ("soon", 1000)])
  func retryAfter(value: String, wait: Int64) throws {
    var policy = RetryPolicy()
    policy.backoff = Backoff(baseMs: 1000, maxMs: 5000, jitter: 0)
    for status in [429, 503, 404, 407] {
      let decision = try Entry.sample().running().finishing(
        .answer(status, headers: [("retry-after", value)]), policy: policy)
      #expect(decision.entry.wait?.due == Moment.start.steady + wait)
    }
  }

  @Test("B193, B171: the entry's own policy goes over that of configure")
  func ownPolicy() throws {
    let request = try Descriptor.sample(#""retry":{"terminalHttp":{"exempt":[]}}"#)
    #expect(try Entry.sample(request).running().finishing(.answer(404)).outcome != nil)
    #expect(try Entry.sample().running().finishing(.answer(404)).outcome == nil)
  }

  @Test("B187: a terminal answer settles error with the answer and the bytes that were sent")
  func terminal() throws {
    var result = AttemptResult.answer(400, "no")
    result.bytesSent = 3
    let decision = try Entry.sample().running().finishing(result)
    #expect(decision.effectNames == ["progress", "attempt", "state"])
    let outcome = try #require(decision.outcome)
    #expect(outcome.bytesSent == 3)
    guard case .error(.http, "HTTP 400", let response?) = outcome.settlement else {
      Issue.record("\(outcome.settlement)")
      return
    }
    #expect(response.status == 400)
    #expect(response.body == .text("no"))
  }

  @Test("A-PROG-01: bytes never exceed the total")
  func clampedBytes() throws {
    var result = AttemptResult.answer(503)
    result.bytesSent = 99
    #expect(try Entry.sample().running().finishing(result).entry.bytesSent == 7)
  }

  @Test("A-FILE-03, B189: a missing body settles error file; the attempt says so and shows no status")
  func missingBody() throws {
    let decision = try Entry.sample().running().finishing(.failure(.bodyMissing, "the staged body is gone"))
    guard case .error(.file, _, nil) = decision.outcome?.settlement else {
      Issue.record("not file")
      return
    }
    #expect(decision.attemptEvent?.result == .error(.file, message: "the staged body is gone"))
  }

  @Test("B298: a rule excuses as often as it says, and then settles with the answer")
  func ruleCap() throws {
    var policy = RetryPolicy()
    policy.transient = [TransientRule(status: 422, maxRetries: 3)]
    var entry = try Entry.sample()
    for ordinal in 1...4 {
      let decision = try entry.running("r\(ordinal)").finishing(.answer(422), policy: policy)
      entry = decision.entry
      #expect((decision.outcome != nil) == (ordinal == 4))
    }
    #expect(entry.failures.rules == [RuleCount(status: 422, bodyIncludes: nil, count: 3)])
  }

  @Test("D18, A-CONN-10: a reused connection that died is followed at once, once in a row of failures")
  func followAtOnce() throws {
    var died = AttemptResult.failure(.afterRequestBegan)
    died.connectionWasReused = true
    let first = try Entry.sample().running().finishing(died).entry
    #expect(first.wait == .init(due: Moment.start.steady))
    #expect(first.failures.followedReuse)
    let second = try first.running("r2").finishing(died).entry
    #expect(second.wait?.isBackoff == true)
    let third = try second.running("r3").finishing(died).entry
    #expect(third.wait?.isBackoff == true)
    #expect(third.failures.streak == 3)
  }

  @Test("D16: only a failure before the request joins the outage of its origin")
  func outage() throws {
    var gates = Gates()
    gates.outages[Origin(text: "https://h.test:443")] = Outage(number: 3, since: 0)
    let before = try Entry.sample().running().finishing(
      .failure(.beforeRequest), gates: gates, randomness: ListedBits([0, 1 << 63]))
    #expect(before.entry.wait?.outage == 3)
    #expect(before.entry.wait?.spread == 0.5)
    #expect(
      try Entry.sample().running().finishing(.failure(.afterRequestBegan), gates: gates).entry.wait?.outage
        == nil)
    #expect(try Entry.sample().running().finishing(.failure(.beforeRequest)).entry.wait?.outage == nil)
    gates.outages[Origin(text: "https://h.test:443")]?.endedAt = 5
    #expect(
      try Entry.sample().running().finishing(.failure(.beforeRequest), gates: gates).entry.wait?.outage == nil
    )
  }
}

@Suite("Results: credentials, deadline, late")
struct CredentialResultTests {
  private func patched(_ gates: Gates, keys: Set<EntryKey>? = nil) -> Gates {
    var gates = gates
    gates.add(HeaderPatch(number: 0, headers: HeaderFields(), keys: keys, origin: nil))
    return gates
  }

  @Test("B251, A-AUTH-01: a 401 or 403 parks once, whatever the deadline", arguments: [401, 403])
  func parks(status: Int) throws {
    let gates = patched(patched(Gates()))
    let decision = try Entry.sample(gates: Gates()).running(gates: gates).finishing(
      .answer(status), gates: gates, now: Moment.start.after(lifetimeMs))
    #expect(decision.entry.state == .awaitingAuth(revision: 2))
    #expect(decision.effectNames == ["attempt", "state"])
    #expect(decision.attemptEvent?.result == .error(.http, message: "HTTP \(status)"))
    #expect(gates.standing(of: decision.entry) == .awaitingAuth)
  }

  @Test("A-AUTH-02, B252: a 401 to headers older than a covering patch is sent again at once")
  func olderHeaders() throws {
    var entry = try Entry.sample()
    entry.failures.streak = 3
    let running = entry.running()
    let again = try running.finishing(.answer(401), gates: patched(Gates()))
    #expect(again.entry.wait == .init(due: Moment.start.steady))
    #expect(again.entry.failures.streak == 0)
    let notCovered = try running.finishing(.answer(401), gates: patched(Gates(), keys: [EntryKey("other")]))
    #expect(notCovered.entry.state == .awaitingAuth(revision: 0))
  }

  @Test("D12, D15, D18: an answer about credentials ends every row of failures")
  func countsAfterCredentials() throws {
    var running = try Entry.sample().running()
    running.failures.streak = 3
    running.failures.cutAnswers = 4
    running.failures.followedReuse = true
    running.failures.rules = [RuleCount(status: 422, bodyIncludes: nil, count: 1)]
    var expected = FailureCounts()
    expected.rules = running.failures.rules
    #expect(try running.finishing(.answer(401)).entry.failures == expected)
  }

  @Test("B253: the 401 of the attempt that followed parks at the newer headers")
  func parksAtNewer() throws {
    let gates = patched(Gates())
    let again = try Entry.sample().running().finishing(.answer(401), gates: gates)
    let parked = try again.entry.running("r2", gates: gates).finishing(.answer(401), gates: gates)
    #expect(parked.entry.state == .awaitingAuth(revision: 1))
    #expect(patched(gates).standing(of: parked.entry) == .queued)
  }

  @Test("D7: a 401 to an attempt that fresh headers of the same id overtook is sent again at once")
  func overtakenBySameID() throws {
    let gates = patched(Gates())
    let running = try Entry.sample().running(gates: gates)
    let fresh = try Enqueue.sample(.sample(#""data":{"a":1},"headers":{"Authorization":"new"}"#))
    let resumed = running.resumed(by: fresh, gates: gates, lifetimeMs: 5000, now: .start).entry
    #expect(try resumed.finishing(.answer(401), gates: gates).entry.wait == .init(due: Moment.start.steady))

    let same = running.resumed(by: try .sample(), gates: gates, lifetimeMs: 5000, now: .start).entry
    #expect(try same.finishing(.answer(401), gates: gates).entry.state == .awaitingAuth(revision: 1))
  }

  @Test("D7: headers that a patch overtook after the attempt began stay overtaken by the same id")
  func overtakenByPatch() throws {
    let running = try Entry.sample().running()
    let gates = patched(Gates())
    let resumed = running.resumed(by: try .sample(), gates: gates, lifetimeMs: 5000, now: .start).entry
    #expect(try resumed.finishing(.answer(401), gates: gates).entry.wait != nil)
    let uncovering = patched(Gates(), keys: [EntryKey("other")])
    let untouched = running.resumed(by: try .sample(), gates: uncovering, lifetimeMs: 5000, now: .start).entry
    #expect(try untouched.finishing(.answer(401), gates: uncovering).entry.wait == nil)
  }

  @Test("D4, B167, B197: at the deadline only a transient result becomes expired")
  func deadline() throws {
    let late = Moment.start.after(lifetimeMs)
    func kind(_ result: AttemptResult, _ now: Moment, _ gates: Gates = Gates()) throws -> String {
      switch try Entry.sample().running().finishing(result, gates: gates, now: now).outcome?.settlement {
      case .completed: "completed"
      case .error(let kind, _, _): kind.rawValue
      case .cancelled: "cancelled"
      case nil: "none"
      }
    }
    #expect(try kind(.answer(503), late) == "expired")
    #expect(try kind(.failure(.beforeRequest), late) == "expired")
    #expect(try kind(.answer(503), Moment.start.after(lifetimeMs - 1)) == "none")
    #expect(try kind(.answer(200), late) == "completed")
    #expect(try kind(.answer(400), late) == "http")
    #expect(try kind(.failure(.bodyMissing), late) == "file")
    var paused = Gates()
    paused.paused = true
    #expect(try kind(.answer(503), late, paused) == "none")
    let decision = try Entry.sample().running().finishing(.answer(503), now: late)
    #expect(decision.attemptEvent?.result == .error(.http, message: "HTTP 503"))
  }

  @Test("B241, 3.2: an accepted result that lands after a stop settles; any other changes nothing")
  func late() throws {
    let running = try Entry.sample().running()
    let attempt = try #require(running.attemptInFlight)
    func landing(_ result: AttemptResult, on entry: Entry) -> Decision? {
      entry.finished(
        attempt, result, policy: RetryPolicy(), gates: Gates(), now: .start, randomness: CountingBits())
    }
    let stopped = running.stopped(now: .start).entry
    let completed = try #require(landing(.answer(200), on: stopped))
    #expect(completed.outcome?.requestID == "r1")
    #expect(completed.effectNames == ["progress", "attempt", "state"])
    for result in [AttemptResult.answer(503), .answer(401), .answer(400), .failure(.bodyMissing)] {
      #expect(landing(result, on: stopped) == nil)
    }
    #expect(landing(.answer(200), on: stopped.running("r2")) == nil)
    #expect(
      landing(.answer(200), on: running.cancelled(now: .start, randomness: CountingBits()).entry) == nil)
    let replaced = stopped.replaced(
      by: try .sample(), body: .sample(), gates: Gates(), lifetimeMs: 5, now: .start,
      randomness: CountingBits()
    ).entry
    #expect(landing(.answer(200), on: replaced) == nil)
    #expect(landing(.answer(200), on: replaced.running("r2")) == nil)
    #expect(landing(.answer(200), on: completed.entry) == nil)
    var other = try Entry.sample().running()
    other.generation = 2
    #expect(landing(.answer(200), on: other) == nil)
  }
}
