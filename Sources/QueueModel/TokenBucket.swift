/// Bytes that may go, which gather at a rate. Times in ms of any one clock.
package struct TokenBucket: Sendable, Equatable {
  /// Bytes a second, at least 1.
  package let rate: Int64
  private var tokens = 0.0
  private var filledAt: Int64

  /// No more gathers than passes in so many ms.
  private static let depthMs: Int64 = 100
  /// A share is what passes in so many ms.
  private static let shareMs: Int64 = 20
  private static let largestShare: Int64 = 64 << 10

  package init(rate: Int64, at now: Int64) {
    self.rate = max(1, rate)
    filledAt = now
    tokens = Double(share)
  }

  /// Bytes that go to one body before the next has its turn.
  package var share: Int64 {
    min(max(1, (rate / 1000) * Self.shareMs + rate % 1000 * Self.shareMs / 1000), Self.largestShare)
  }

  private var depth: Double { max(Double(rate) * Double(Self.depthMs) / 1000, Double(share)) }

  /// What has gathered by `now`, whole bytes.
  package mutating func filled(at now: Int64) -> Int64 {
    if now > filledAt {
      tokens = min(tokens + Double(now - filledAt) * Double(rate) / 1000, depth)
      filledAt = now
    }
    return Int64(tokens)
  }

  package mutating func take(_ bytes: Int64) { tokens -= Double(bytes) }

  /// When a share will have gathered.
  package var shareAt: Int64 {
    let missing = Double(share) - tokens
    guard missing > 0 else { return filledAt }
    return filledAt + Int64(missing * 1000 / Double(rate)) + 1
  }
}
