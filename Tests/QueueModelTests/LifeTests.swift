import JSONText
import Testing

@testable import QueueModel

@Suite("Entries: begin, go on, end")
struct LifeTests {
  private let bits = CountingBits()

  @Test("B116, B30: a new entry is due now and ends at its deadline, by default a lifetime from now")
  func created() throws {
    let entry = try Entry.sample()
    #expect(entry.generation == 1)
    #expect(entry.attempts == 0)
    #expect(entry.wait == .init(due: Moment.start.steady))
    #expect(entry.expiresAt == Moment.start.wall + lifetimeMs)
    #expect(entry.createdAt == Moment.start.wall)
    #expect(try Entry.sample(.sample(#""expiresAt":5"#)).expiresAt == 5)
    let far = try Entry.created(
      number: 1, from: .sample(), body: .sample(), gates: Gates(), lifetimeMs: 9_007_199_254_740_991,
      now: .start,
      randomness: bits
    ).entry
    #expect(far.expiresAt == 9_007_199_254_740_991)
  }

  @Test("protocol 1: a patch that arrives while the body is staged applies to the entry")
  func patchDuringStaging() throws {
    var gates = Gates()
    var enqueue = try Enqueue.sample()
    enqueue.headerRevision = gates.headerRevision
    let headers = try HeaderFields(reading: json(#"{"X-A":"new"}"#), path: "h")
    gates.add(HeaderPatch(number: 0, headers: headers, keys: nil, origin: nil))
    let entry = Entry.created(
      number: 1, from: enqueue, body: .sample(), gates: gates, lifetimeMs: 5, now: .start, randomness: bits
    ).entry
    #expect(gates.headers(for: entry)["X-A"] == "new")
    let resumed = try Entry.sample(gates: gates).resumed(
      by: enqueue, gates: gates, lifetimeMs: 5, now: .start
    ).entry
    #expect(gates.headers(for: resumed)["X-A"] == "new")
    enqueue.headerRevision = nil
    let later = Entry.created(
      number: 1, from: enqueue, body: .sample(), gates: gates, lifetimeMs: 5, now: .start, randomness: bits
    ).entry
    #expect(gates.headers(for: later)["X-A"] == nil)
  }

  @Test(
    "B211, B212, B221, B222, B228: a resume replaces metadata, ends waits, keeps attempts and rule counts")
  func resumed() throws {
    var entry = try Entry.sample()
    entry.attempts = 3
    entry.failures.streak = 5
    entry.failures.cutAnswers = 2
    entry.failures.rules = [RuleCount(status: 422, bodyIncludes: nil, count: 1)]
    let enqueue = try Enqueue.sample(
      .sample(#""data":{"a":1},"headers":{"X-A":"2"},"expiresAt":99,"wifiOnly":true"#), key: "k2", vars: "[1]"
    )
    let gates = Gates()
    for state in [
      Entry.State.queued(.init(due: .max, isBackoff: true, outage: 2)), .awaitingAuth(revision: 4),
    ] {
      entry.state = state
      let now = Moment.start.after(50)
      let decision = entry.resumed(by: enqueue, gates: gates, lifetimeMs: 5000, now: now)
      let resumed = decision.entry
      #expect(resumed.wait == .init(due: now.steady))
      #expect(resumed.key.text == "k2")
      #expect(resumed.vars.description == "[1]")
      #expect(resumed.request.headers["X-A"] == "2")
      #expect(resumed.request.wifiOnly == true)
      #expect(resumed.expiresAt == 99)
      #expect(resumed.updatedAt == now.wall)
      #expect(resumed.attempts == 3)
      #expect(resumed.generation == 1)
      #expect(resumed.failures.streak == 0)
      #expect(resumed.failures.cutAnswers == 2)
      #expect(resumed.failures.rules == entry.failures.rules)
      #expect(resumed.idempotencyKey == entry.idempotencyKey)
      #expect(resumed.body == entry.body)
      #expect(!decision.releasesBody)
    }
  }

  @Test("B211: a resume of a running entry leaves its attempt alone")
  func resumedRunning() throws {
    let entry = try Entry.sample().running()
    let decision = entry.resumed(by: try .sample(vars: "[2]"), gates: Gates(), lifetimeMs: 5, now: .start)
    #expect(decision.entry.attemptInFlight == entry.attemptInFlight)
    #expect(decision.entry.vars.description == "[2]")
    #expect(decision.effectNames == ["state"])
    #expect(decision.entry.failures == entry.failures)
  }

  @Test("D6, B225: a resume under a paused key stops the attempt; off a paused key it runs")
  func movedToAnotherKey() throws {
    var gates = Gates()
    gates.pausedKeys = [EntryKey("p")]
    let onto = try Entry.sample().running().resumed(
      by: try .sample(key: "p"), gates: gates, lifetimeMs: 5, now: .start)
    #expect(onto.effectNames == ["stop", "state"])
    #expect(gates.standing(of: onto.entry) == .paused)
    #expect(onto.entry.key.text == "p")
    let off = try Entry.sample(key: "p").resumed(
      by: try .sample(key: "k"), gates: gates, lifetimeMs: 5, now: .start)
    #expect(gates.standing(of: off.entry) == .queued)
  }

  @Test("B226: a parked entry resumed under a pause stays paused and runs afterwards")
  func resumedUnderPause() throws {
    var gates = Gates()
    gates.paused = true
    var entry = try Entry.sample()
    entry.state = .awaitingAuth(revision: 0)
    let resumed = entry.resumed(by: try .sample(), gates: gates, lifetimeMs: 5, now: .start).entry
    #expect(gates.standing(of: resumed) == .paused)
    #expect(Gates().standing(of: resumed) == .queued)
  }

  @Test(
    "B213, B216, B217, D19: a replace begins a generation with a new body and key, and lets the old body go"
  )
  func replaced() throws {
    var entry = try Entry.sample().running().stopped(now: .start).entry
    entry.failures.rules = [RuleCount(status: 422, bodyIncludes: nil, count: 1)]
    entry.bytesSent = 4
    let body = StagedBody(kind: .data, length: 9, place: .row)
    let decision = entry.replaced(
      by: try .sample(.sample(#""data":2"#)), body: body, gates: Gates(), lifetimeMs: 5, now: .start,
      randomness: bits)
    let replaced = decision.entry
    #expect(replaced.generation == 2)
    #expect(replaced.attempts == 0)
    #expect(replaced.bytesSent == 0)
    #expect(replaced.lastRequestID == nil)
    #expect(replaced.failures == FailureCounts())
    #expect(replaced.body == body)
    #expect(replaced.idempotencyKey != entry.idempotencyKey)
    #expect(decision.releasesBody)
  }

  @Test("D28: a replace whose source is gone keeps the body that the entry owns")
  func replacedKeepingBody() throws {
    let entry = try Entry.sample(.sample(#""file":"/a""#))
    let decision = entry.replaced(
      by: try .sample(.sample(#""file":"/a""#, url: "https://h.test/y")), body: nil, gates: Gates(),
      lifetimeMs: 5,
      now: .start, randomness: bits)
    #expect(decision.entry.body == entry.body)
    #expect(!decision.releasesBody)
    #expect(decision.entry.generation == 2)
  }

  @Test(
    "B188, B221, D19: a reopen begins a generation with the same body; a new key only after an answer",
    arguments: [
      (AttemptResult.answer(400), false), (.failure(.bodyMissing), true),
    ])
  func reopened(result: AttemptResult, keepsKey: Bool) throws {
    let first = try Entry.sample()
    let settled = try first.running().finishing(result).entry
    let decision = settled.reopened(
      by: try .sample(), gates: Gates(), lifetimeMs: 5000, now: .start, randomness: bits)
    #expect(decision.entry.generation == 2)
    #expect(decision.entry.attempts == 0)
    #expect(decision.entry.failures == FailureCounts())
    #expect(decision.entry.body == first.body)
    #expect(decision.entry.wait == .init(due: Moment.start.steady))
    #expect((decision.entry.idempotencyKey == first.idempotencyKey) == keepsKey)
    #expect(decision.entry.idempotencyKey != nil)
    #expect(!decision.releasesBody)
  }

  @Test("B229, D27: a cancel settles, lets the body go, stops what runs and tells its last bytes")
  func cancelled() throws {
    var running = try Entry.sample().running()
    running.bytesSent = 3
    let decision = running.cancelled(now: Moment.start.after(9), randomness: bits)
    #expect(decision.effectNames == ["stop", "progress", "state"])
    #expect(decision.releasesBody)
    #expect(decision.entry.body.place == .none)
    #expect(decision.entry.body.length == 7)
    let outcome = try #require(decision.outcome)
    #expect(outcome.bytesSent == 3)
    #expect(outcome.at == Moment.start.wall + 9)
    guard case .cancelled("user") = outcome.settlement else {
      Issue.record("\(outcome.settlement)")
      return
    }
    #expect(try Entry.sample().cancelled(now: .start, randomness: bits).effectNames == ["state"])
  }

  @Test("D4: a deadline is inclusive and not early; who waits for credentials expires too")
  func expired() throws {
    var entry = try Entry.sample()
    for state in [Entry.State.queued(.init(due: .max, isBackoff: true)), .awaitingAuth(revision: 0)] {
      entry.state = state
      let early = entry.expired(now: Moment.start.after(lifetimeMs - 1), randomness: bits)
      #expect(early.outcome == nil)
      let decision = entry.expired(now: Moment.start.after(lifetimeMs), randomness: bits)
      guard case .error(.expired, _, nil) = decision.outcome?.settlement else {
        Issue.record("not expired")
        return
      }
      #expect(decision.effectNames == ["state"])
      #expect(!decision.releasesBody)
      #expect(decision.outcome?.requestID == nil)
    }
  }

  @Test("B188, B220: an acknowledgement forgets completed and cancelled entries of its own generation")
  func forgotten() throws {
    let running = try Entry.sample().running()
    let completed = try running.finishing(.answer(200))
    let failed = try running.finishing(.answer(400))
    let cancelled = running.cancelled(now: .start, randomness: bits)
    for (decision, isForgotten) in [(completed, true), (failed, false), (cancelled, true)] {
      let outcome = try #require(decision.outcome)
      #expect(decision.entry.isForgotten(byEvent: outcome.eventID) == isForgotten)
      #expect(!decision.entry.isForgotten(byEvent: "another"))
      let again = decision.entry.replaced(
        by: try .sample(), body: .sample(), gates: Gates(), lifetimeMs: 5, now: .start, randomness: bits
      ).entry
      #expect(!again.isForgotten(byEvent: outcome.eventID))
      let settledAgain = again.running("r2").cancelled(now: .start, randomness: bits).entry
      #expect(!settledAgain.isForgotten(byEvent: outcome.eventID))
    }
  }
}
