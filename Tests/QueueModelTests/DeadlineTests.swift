import QueueModel
import Testing

@Suite struct DeadlineTests {
  struct Limits: Sendable, CustomTestStringConvertible {
    var expiresIn: Int64 = 1_000_000
    var deadlineMs: Int64?
    var groupIn: Int64?
    /// Distance of what counts.
    var counts: Int64
    var name: String
    var testDescription: String { "\(name) in \(counts)" }
  }

  private static let limits: [Limits] = [
    Limits(counts: 1_000_000, name: "expiresAt has passed"),
    Limits(deadlineMs: 50, counts: 50, name: "deadlineMs has passed since the first attempt"),
    Limits(expiresIn: 40, deadlineMs: 50, counts: 40, name: "expiresAt has passed"),
    Limits(
      deadlineMs: 50, groupIn: 30, counts: 30,
      name: "groupDeadlineMs has passed since the first attempt of the group"),
    Limits(
      deadlineMs: 50, groupIn: 60, counts: 50, name: "deadlineMs has passed since the first attempt"),
    Limits(deadlineMs: 9_007_199_254_740_991, counts: 1_000_000, name: "expiresAt has passed"),
  ]

  @Test("D49, D4: the nearest limit counts and is named", arguments: limits)
  func nearest(_ limits: Limits) throws {
    var entry = try Entry.sample()
    entry.expiresAt = Moment.start.wall + limits.expiresIn
    entry.deadlineMs = limits.deadlineMs
    entry.groupDeadline = limits.groupIn.map { Moment.start.wall + $0 }
    var running = entry.started(requestID: "r", gates: Gates(), now: .start).entry
    #expect(running.firstAttemptAt == Moment.start.wall)
    #expect(running.deadline == Moment.start.wall + limits.counts)
    running.state = .queued(Entry.Wait(due: 0))
    var now = Moment.start
    now.wall += limits.counts - 1
    #expect(running.expired(now: now, randomness: CountingBits()).outcome == nil)
    now.wall += 1
    guard
      case .error(.expired, let message, _)? = running.expired(now: now, randomness: CountingBits())
        .outcome?.settlement
    else {
      Issue.record("not expired")
      return
    }
    #expect(message == limits.name)
  }

  @Test("D49: the same id while it is live keeps the time of the first attempt; a new generation has its own")
  func again() throws {
    var entry = try Entry.sample()
    entry.deadlineMs = 50
    let running = entry.started(requestID: "r", gates: Gates(), now: .start).entry
    var enqueue = try Enqueue.sample()
    enqueue.deadlineMs = 70
    let resumed = running.stopped(now: .start).entry.resumed(
      by: enqueue, gates: Gates(), partsAtOnce: 3, lifetimeMs: lifetimeMs, now: .start)
    #expect(resumed.entry.deadline == Moment.start.wall + 70)
    let replaced = running.stopped(now: .start).entry.replaced(
      by: enqueue, body: .sample(), gates: Gates(), lifetimeMs: lifetimeMs, now: .start,
      randomness: CountingBits())
    #expect(replaced.entry.firstAttemptAt == nil)
    #expect(replaced.entry.deadline == Moment.start.wall + lifetimeMs)
  }
}
