import Testing

@testable import QueueModel

/// Every state with every input: a new state or input does not compile until its row is here.
@Suite("Every state with every input")
struct TransitionPairTests {
  enum Standing: String, Sendable, CaseIterable {
    case fresh, backoff, held, running, parked, completed, error, cancelled
  }

  enum Input: String, Sendable, CaseIterable {
    case started, stopped, orphaned, cancelled, expired, resumed, replaced, reopened, retried
    case accepted, needsCredentials, transient, terminal
  }

  struct Pair: Sendable, CustomTestStringConvertible {
    var standing: Standing
    var input: Input
    var testDescription: String { "\(standing.rawValue) x \(input.rawValue)" }
  }

  static let pairs = Standing.allCases.flatMap { standing in
    Input.allCases.map { Pair(standing: standing, input: $0) }
  }

  /// The state that the entry is in afterwards; nil when nothing changes.
  private func expected(_ standing: Standing, _ input: Input) -> String? {
    switch (standing, input) {
    case (.fresh, .started), (.backoff, .started): "running"
    case (.running, .started), (.parked, .started), (.held, .started): nil
    case (.running, .stopped), (.running, .orphaned): "queued"
    case (.fresh, .stopped), (.backoff, .stopped), (.parked, .stopped), (.held, .stopped): nil
    case (.fresh, .orphaned), (.backoff, .orphaned), (.parked, .orphaned), (.held, .orphaned): nil
    case (.fresh, .cancelled), (.backoff, .cancelled), (.running, .cancelled), (.parked, .cancelled),
      (.held, .cancelled):
      "cancelled"
    case (.fresh, .expired), (.backoff, .expired), (.parked, .expired), (.held, .expired): "error"
    case (.running, .expired): nil
    case (.fresh, .resumed), (.backoff, .resumed), (.parked, .resumed), (.held, .resumed): "queued"
    case (.running, .resumed): "running"
    case (.running, .replaced): nil
    case (_, .replaced): "queued"
    case (.error, .reopened), (.error, .retried), (.parked, .retried): "queued"
    // Due already.
    case (.fresh, .retried), (.backoff, .retried), (.running, .retried), (.held, .retried): nil
    case (_, .reopened): nil
    // The last attempt was stopped, or is in flight.
    case (.backoff, .accepted), (.parked, .accepted), (.held, .accepted), (.running, .accepted): "completed"
    case (.running, .needsCredentials): "awaiting-auth"
    case (.running, .transient): "queued"
    case (.running, .terminal): "error"
    case (.fresh, .accepted), (.fresh, .needsCredentials), (.fresh, .transient), (.fresh, .terminal): nil
    case (.backoff, .needsCredentials), (.backoff, .transient), (.backoff, .terminal): nil
    case (.parked, .needsCredentials), (.parked, .transient), (.parked, .terminal): nil
    case (.held, .needsCredentials), (.held, .transient), (.held, .terminal): nil
    case (.completed, _), (.error, _), (.cancelled, _): nil
    }
  }

  private func entry(_ standing: Standing) throws -> Entry {
    let fresh = try Entry.sample()
    let sent = fresh.running()
    var entry = sent
    switch standing {
    case .fresh: return fresh
    case .backoff: entry.state = .queued(.init(due: Moment.start.steady, isBackoff: true))
    case .running: break
    case .held: entry.state = .held(try #require(Entry.Held(unmet: 1, isBehind: false)))
    case .parked: entry.state = .awaitingAuth(revision: 0)
    case .completed: entry.state = .settled(.completed, eventID: "event")
    case .error: entry.state = .settled(.error, eventID: "event")
    case .cancelled: entry.state = .settled(.cancelled, eventID: "event")
    }
    return entry
  }

  private func apply(_ input: Input, to entry: Entry) throws -> Decision? {
    let bits = CountingBits()
    let now = Moment.start
    let late = now.after(lifetimeMs)
    let enqueue = try Enqueue.sample()
    let gates = Gates()
    func finished(_ result: AttemptResult) -> Decision? {
      entry.finished(
        AttemptID(entry: 7, generation: entry.generation, ordinal: 1), result, policy: RetryPolicy(),
        gates: gates,
        now: now, randomness: bits)
    }
    return switch input {
    case .started: entry.started(requestID: "r2", gates: gates, now: now)
    case .stopped: entry.stopped(now: now)
    case .orphaned: entry.orphaned(now: now)
    case .cancelled: entry.cancelled(now: now, randomness: bits)
    case .expired: entry.expired(now: late, randomness: bits)
    case .resumed: entry.resumed(by: enqueue, gates: gates, lifetimeMs: 5, now: now)
    case .replaced:
      entry.replaced(
        by: enqueue, body: .sample(), gates: gates, lifetimeMs: 5, now: now, randomness: bits)
    case .reopened: entry.reopened(by: enqueue, gates: gates, lifetimeMs: 5, now: now, randomness: bits)
    case .retried:
      try? entry.retried(gates: gates, partsAtOnce: 3, lifetimeMs: 5, now: now, randomness: bits)
    case .accepted: finished(.answer(200))
    case .needsCredentials: finished(.answer(401))
    case .transient: finished(.answer(503))
    case .terminal: finished(.answer(400))
    }
  }

  @Test("D1: a state changes by the inputs that mean something in it, and by no other", arguments: pairs)
  func pair(_ pair: Pair) throws {
    let before = try entry(pair.standing)
    let decision = try apply(pair.input, to: before)
    let expected = expected(pair.standing, pair.input)
    let after = decision.map { Gates().standing(of: $0.entry) }
    guard let expected else {
      #expect(after ?? Gates().standing(of: before) == Gates().standing(of: before))
      #expect(decision?.effects.isEmpty ?? true)
      #expect(decision?.outcome == nil)
      #expect(decision?.releasesBody != true)
      #expect(decision?.entry.updatedAt ?? before.updatedAt == before.updatedAt)
      #expect(decision?.entry.generation ?? before.generation == before.generation)
      return
    }
    let made = try #require(decision)
    #expect(after?.rawValue == expected)
    #expect(made.effectNames.last == "state")
    let isSettled = ["completed", "error", "cancelled"].contains(expected)
    #expect((made.outcome != nil) == isSettled)
    if case .settled(let kind, let eventID) = made.entry.state {
      #expect(made.outcome?.eventID == eventID)
      #expect(made.outcome?.settlement.kind == kind)
    }
    #expect(made.entry.number == before.number)
    #expect(made.entry.createdAt == before.createdAt)
    #expect(made.releasesBody == [.cancelled, .replaced].contains(pair.input))
  }
}
