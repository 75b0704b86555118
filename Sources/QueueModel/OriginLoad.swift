/// What is on its way to one origin, and what its answers have taught.
package struct OriginLoad: Sendable {
  package internal(set) var running = Tally()
  /// Of those, the ones that have not moved for a while.
  package internal(set) var quiet = Tally()
  package private(set) var limit = AdaptiveLimit()
  package private(set) var circuit = Circuit()
  /// Queue time of the last attempt, ms.
  package private(set) var usedAt: Int64 = 0

  /// Attempts by priority.
  package struct Tally: Sendable, Equatable {
    package var high = 0
    package var normal = 0

    package var all: Int { high + normal }

    mutating func add(_ count: Int, _ priority: Descriptor.Priority) {
      switch priority {
      case .high: high += count
      case .normal: normal += count
      }
    }
  }

  /// One attempt as its origin sees it.
  package struct Attempt: Sendable {
    package let id: AttemptID
    /// Queue time, ms.
    package let begunAt: Int64
    fileprivate let stamp: AdaptiveLimit.Stamp
  }

  init() {}

  mutating func began(_ id: AttemptID, at steady: Int64) -> Attempt {
    usedAt = steady
    circuit.began(id)
    return Attempt(id: id, begunAt: steady, stamp: limit.began(running: running.all))
  }

  mutating func ended(_ id: AttemptID) { circuit.ended(id) }

  mutating func tryNow(at steady: Int64) { circuit.tryNow(at: steady) }

  /// The machine is connected in another way: what failed may work now.
  mutating func closeCircuit() { circuit.succeeded() }

  /// Learns from what came of an attempt.
  ///
  /// - Parameters:
  ///   - isAlone: It was the only one.
  ///   - most: The limit that no other exceeds.
  ///   - fraction: Uniform in 0 ..< 1.
  mutating func learn(
    _ sign: ServerSign, from attempt: Attempt, isAlone: Bool, most: Int, at steady: Int64, fraction: Double
  ) {
    func fail(_ retryAfterMs: Int64?) {
      circuit.failed(
        entry: attempt.id.entry, begunAt: attempt.begunAt, asksFor: retryAfterMs, at: steady,
        fraction: fraction)
    }
    let wasClosed = circuit.restsUntil == nil
    switch sign {
    case .none: return
    case .well(let afterMs):
      circuit.succeeded()
      limit.answered(attempt.stamp, afterMs: afterMs, most: most)
    case .busy(let retryAfterMs):
      limit.refused(attempt.stamp)
      // Fewer at once may be all that it wants.
      if isAlone || retryAfterMs != nil { fail(retryAfterMs) }
    case .overloaded(let retryAfterMs):
      limit.refused(attempt.stamp)
      fail(retryAfterMs)
    case .failing(let retryAfterMs): fail(retryAfterMs)
    }
    if wasClosed && circuit.restsUntil != nil { limit.restart() }
  }
}
