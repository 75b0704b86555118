/// How long a transient failure waits before the next attempt (D15).
package struct Backoff: Sendable, Equatable {
  /// ms after the first failure, at least 1.
  package var baseMs: Int64
  /// ms that no wait exceeds, at least 1.
  package var maxMs: Int64
  /// 0 to 1: how far a wait may lie from its middle, as a part of it.
  package var jitter: Double

  package init(baseMs: Int64 = 1000, maxMs: Int64 = 7_200_000, jitter: Double = 0.2) {
    self.baseMs = baseMs
    self.maxMs = maxMs
    self.jitter = jitter
  }

  /// The wait in ms, 1 ... `maxMs`, after `n` consecutive transient failures.
  ///
  /// - Parameters:
  ///   - n: 1 and up; less counts as 1, any size is safe.
  ///   - fraction: uniform in 0 ..< 1.
  package func wait(afterFailures n: Int64, fraction: Double) -> Int64 {
    let doublings = Int(min(max(n, 1) - 1, 62))
    let middle = baseMs > maxMs >> doublings ? maxMs : baseMs << doublings
    let jittered = Double(middle) * (1 + jitter * (2 * fraction - 1))
    // Capped again: the jitter of a wait at the cap would exceed it. `maxMs` may lie beyond what a double
    // holds.
    guard jittered < Double(maxMs) else { return max(maxMs, 1) }
    return max(Int64(jittered), 1)
  }
}
