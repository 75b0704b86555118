import Testing

@testable import QueueModel

@Suite("Retried by hand")
struct RetriedTests {
  private let bits = CountingBits()
  private let soon = Moment.start.after(50)

  private func retried(_ entry: Entry, gates: Gates = Gates(), now: Moment? = nil) throws -> Decision {
    try entry.retried(
      gates: gates, partsAtOnce: 3, lifetimeMs: lifetimeMs, now: now ?? soon, randomness: bits)
  }

  /// An entry that went through all that is counted, with what the host gave.
  private func tried() throws -> Entry {
    var entry = try Entry.sample(
      .sample(#""data":{"a":1},"headers":{"X-A":"1"},"expiresAt":\#(Moment.start.wall + 9000)"#), key: "k")
    entry.attempts = 3
    entry.host = HostID(4)
    entry.failures.streak = 5
    entry.failures.cutAnswers = 2
    entry.failures.rules = [RuleCount(status: 422, bodyIncludes: nil, count: 1)]
    return entry
  }

  @Test(
    "D44: what waits or is parked is due now, and the row of failures is forgotten; all else stays",
    arguments: [
      Entry.State.queued(.init(due: .max, isBackoff: true)),
      .queued(.init(due: .max, isBackoff: true, outage: 2, spread: 0.5)), .awaitingAuth(revision: 4),
    ])
  func waiting(state: Entry.State) throws {
    var entry = try tried()
    entry.state = state
    let decision = try retried(entry)
    let after = decision.entry
    #expect(after.wait == .init(due: soon.steady))
    #expect(after.failures.streak == 0)
    #expect(after.failures.cutAnswers == 2)
    #expect(after.failures.rules == entry.failures.rules)
    #expect(after.attempts == 3)
    #expect(after.generation == 1)
    #expect(after.key == entry.key)
    #expect(after.vars == entry.vars)
    #expect(after.host == entry.host)
    #expect(after.request.headers["X-A"] == "1")
    #expect(after.headerRevision == entry.headerRevision)
    #expect(after.idempotencyKey == entry.idempotencyKey)
    #expect(after.body == entry.body)
    #expect(after.expiresAt == entry.expiresAt)
    #expect(after.updatedAt == soon.wall)
    #expect(decision.effectNames == ["state"])
    #expect(decision.outcome == nil)
    #expect(!decision.releasesBody)
  }

  @Test("D44: a parked entry goes once more with its headers; refused again it parks again")
  func parkedAgain() throws {
    let parked = try Entry.sample().running().finishing(.answer(401)).entry
    let again = try retried(parked).entry.running("r2", now: soon)
    let refused = try again.finishing(.answer(401), now: soon).entry
    #expect(Gates().standing(of: refused) == .awaitingAuth)
    #expect(refused.attempts == 2)
  }

  @Test("D44: what runs, is due, or was let go already is left as it is")
  func leftAlone() throws {
    var gates = Gates()
    gates.add(HeaderPatch(number: 0, headers: HeaderFields(), keys: nil, origin: nil))
    var due = try tried()
    due.state = .queued(.init(due: soon.steady, isBackoff: true))
    var released = due
    released.state = .awaitingAuth(revision: 0)
    for entry in [due, try tried().running(), try Entry.sample(), released] {
      let decision = try retried(entry, gates: gates)
      #expect(decision.effects.isEmpty)
      #expect(decision.entry.state == entry.state)
      #expect(decision.entry.failures == entry.failures)
      #expect(decision.entry.updatedAt == entry.updatedAt)
    }
  }

  @Test("D44: a pause holds the entry, which is due when it ends")
  func paused() throws {
    var gates = Gates()
    gates.paused = true
    var entry = try tried()
    entry.state = .queued(.init(due: .max, isBackoff: true))
    let after = try retried(entry, gates: gates).entry
    #expect(gates.standing(of: after) == .paused)
    #expect(after.wait == .init(due: soon.steady))
  }

  @Test(
    "D44, D19: what settled with an error reopens as by the same body, with a new key only after an answer",
    arguments: [(AttemptResult.answer(400), false), (.failure(.bodyMissing), true)])
  func reopened(result: AttemptResult, keepsKey: Bool) throws {
    var first = try tried()
    first.failures.streak = 0
    let settled = try first.running().finishing(result).entry
    let decision = try retried(settled)
    let again = decision.entry
    #expect(again.generation == 2)
    #expect(again.attempts == 0)
    #expect(again.failures == FailureCounts())
    #expect(again.body == first.body)
    #expect(again.host == first.host)
    #expect(again.wait == .init(due: soon.steady))
    #expect((again.idempotencyKey == first.idempotencyKey) == keepsKey)
    #expect(again.idempotencyKey != nil)
    #expect(decision.effectNames == ["state"])
    #expect(!decision.releasesBody)
  }

  @Test("D44, D4: a deadline that has passed is one lifetime from now; the host's own stands while it lasts")
  func deadline() throws {
    let entry = try tried()
    let late = Moment.start.after(9000)
    let expired = entry.expired(now: late, randomness: bits).entry
    let again = try retried(expired, now: late.after(5))
    #expect(again.entry.expiresAt == late.wall + 5 + lifetimeMs)
    #expect(again.entry.expired(now: late.after(5), randomness: bits).outcome == nil)
    // Held by a pause, it is past its deadline and has not settled.
    #expect(try retried(entry, now: late).entry.expiresAt == late.wall + lifetimeMs)
    #expect(try retried(entry.settledSample(.error)).entry.expiresAt == entry.expiresAt)
    let byDefault = try Entry.sample().settledSample(.error)
    #expect(try retried(byDefault).entry.expiresAt == soon.wall + lifetimeMs)
  }

  @Test("D44, B272: of an entry in parts what waits goes now, what is in flight and accepted stays")
  func parts() throws {
    var chunked = try Chunked([1, 1, 1])
    chunked.startAll()
    try chunked.finish(0, .answer(200))
    try chunked.finish(1, .answer(503))
    #expect(chunked.next == nil)
    chunked.take(try retried(chunked.entry, now: chunked.now))
    #expect(chunked.lastDecision?.effectNames == ["state"])
    #expect(chunked.inFlight == [2])
    #expect(chunked.next == 1)
    chunked.startAll()
    #expect(try retried(chunked.entry, now: chunked.now).effects.isEmpty)
    for part in [1, 2] { try chunked.finish(part, .answer(503)) }
    #expect(chunked.standing == "queued")
    #expect(chunked.next == nil)
    chunked.take(try retried(chunked.entry, now: chunked.now))
    #expect(chunked.startAll() == [1, 2])
    try chunked.finish(1, .answer(410))
    #expect(chunked.standing == "error")
    chunked.take(try retried(chunked.entry, now: chunked.now))
    #expect(chunked.entry.parts?.accepted == 1)
    #expect(chunked.startAll() == [1, 2])
  }

  @Test(
    "D44: what cannot be sent again is refused, naming id",
    arguments: [(Outcome.Kind.completed, "is completed"), (.cancelled, "is cancelled"), (.error, "no body")])
  func refused(kind: Outcome.Kind, message: String) throws {
    var entry = try Entry.sample().settledSample(kind)
    if kind != .completed { entry.body.place = .none }
    let refused = try #require(try refusal { _ = try retried(entry) })
    #expect(refused.path == "id")
    #expect(refused.message.contains(message))
    let bodiless = try Entry.sample(.sample(#""method":"GET""#)).settledSample(.error)
    if kind == .error { #expect(try retried(bodiless).entry.generation == 2) }
  }
}
