/// What counts towards the next wait or the end; persisted, so that a restart forgets none of it (D12, D15).
package struct FailureCounts: Sendable, Equatable {
  /// Consecutive transient failures (D15).
  package var streak: Int64 = 0
  /// Consecutive 2xx answers that were cut after a whole request (D12).
  package var cutAnswers: Int64 = 0
  /// In this row of failures an attempt followed at once upon a reused connection that died (D18).
  package var followedReuse = false
  package var rules: [RuleCount] = []

  package init() {}
}

extension FailureCounts {
  /// How many answers the rule has excused so far (B298).
  func count(of rule: TransientRule) -> Int64 {
    rules.first { $0.isOf(rule) }?.count ?? 0
  }

  mutating func countOne(of rule: TransientRule) {
    if let index = rules.firstIndex(where: { $0.isOf(rule) }) {
      rules[index].count += 1
    } else {
      rules.append(RuleCount(status: rule.status, bodyIncludes: rule.bodyIncludes, count: 1))
    }
  }
}

extension FailureCounts {
  /// Counts a result that is tried again.
  mutating func count(_ result: AttemptResult, rule: TransientRule?, followAtOnce: Bool) {
    streak += 1
    cutAnswers = result.isCutSuccess ? cutAnswers + 1 : 0
    if followAtOnce { followedReuse = true }
    if let rule { countOne(of: rule) }
  }

  /// The row of failures ended; what the rules have excused stays counted.
  mutating func forgetRow() {
    streak = 0
    cutAnswers = 0
    followedReuse = false
  }

  /// The wait after a failure that is counted already: the longer of backoff and Retry-After (D14, D15).
  func wait(
    _ backoff: Backoff, after answer: Answer?, outage: Int64?, _ now: Moment, _ randomness: any Randomness
  ) -> Entry.Wait {
    let own = backoff.wait(afterFailures: streak, fraction: randomness.fraction())
    let asked = answer?.header("retry-after").flatMap { RetryAfter.milliseconds($0, now: now.wall) } ?? 0
    let wait = min(max(own, asked), backoff.maxMs)
    return Entry.Wait(
      due: now.steady + wait, isBackoff: true, outage: outage,
      spread: outage == nil ? 0 : randomness.fraction())
  }
}

extension RuleCount {
  fileprivate func isOf(_ rule: TransientRule) -> Bool {
    status == rule.status && bodyIncludes.hasSameBytes(as: rule.bodyIncludes)
  }
}
