/// Keeps an origin that fails from being asked again and again by ever other entries (D52): after failures
/// in a row it rests, then one attempt at a time tries it. Forgotten with the process.
package struct Circuit: Sendable, Equatable {
  /// By wire name.
  package enum Phase: String, Sendable, CaseIterable {
    /// Attempts begin.
    case closed
    /// None begins until a time.
    case open
    /// One at a time tries.
    case halfOpen = "half-open"
  }

  /// Different entries that failed in a row before it opens.
  package static let patience = 5
  /// No rest is longer, whatever the server asks for: its other doors may be open.
  package static let longestRestMs: Int64 = 60_000
  private static let rests = Backoff(baseMs: 1000, maxMs: 30_000, jitter: 0.2)

  /// Entries that failed in a row; no more than `patience` are kept.
  private var failed: Set<Int64> = []
  /// In a row.
  private var openings: Int64 = 0
  private var rest: Rest?

  private struct Rest: Sendable, Equatable {
    /// Queue time, ms.
    var since: Int64
    var until: Int64
    var probe: AttemptID?
  }

  package init() {}

  /// Queue time, ms, at which an attempt may try; nil while it is closed.
  package var restsUntil: Int64? { rest?.until }

  package func phase(at steady: Int64) -> Phase {
    guard let rest else { return .closed }
    return steady < rest.until ? .open : .halfOpen
  }

  /// Whether an attempt may begin.
  package func admits(at steady: Int64) -> Bool {
    guard let rest else { return true }
    return steady >= rest.until && rest.probe == nil
  }

  package mutating func began(_ attempt: AttemptID) { rest?.probe = attempt }

  /// The attempt is over, whatever came of it.
  package mutating func ended(_ attempt: AttemptID) {
    if rest?.probe == attempt { rest?.probe = nil }
  }

  /// The server does its work.
  package mutating func succeeded() { self = Circuit() }

  /// A person wants it tried now.
  package mutating func tryNow(at steady: Int64) {
    if let until = rest?.until { rest?.until = min(until, steady) }
  }

  /// The server failed at an attempt.
  ///
  /// - Parameters:
  ///   - entry: Whose attempt; one that fails again and again says nothing new.
  ///   - begunAt: Queue time, ms, at which the attempt began.
  ///   - asksFor: ms that the server wants to be left alone for.
  ///   - fraction: Uniform in 0 ..< 1.
  package mutating func failed(
    entry: Int64, begunAt: Int64, asksFor: Int64?, at steady: Int64, fraction: Double
  ) {
    if let rest, begunAt <= rest.since {
      // It began before the others were held back, and tells only how long to wait.
      if let asksFor { self.rest?.until = max(rest.until, steady + min(asksFor, Self.longestRestMs)) }
      return
    }
    if failed.count < Self.patience { failed.insert(entry) }
    guard rest != nil || asksFor != nil || failed.count >= Self.patience else { return }
    openings += 1
    let own = Self.rests.wait(afterFailures: openings, fraction: fraction)
    let length = min(max(own, asksFor ?? 0), Self.longestRestMs)
    rest = Rest(since: steady, until: steady + length)
  }
}
