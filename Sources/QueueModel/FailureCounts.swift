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

extension RuleCount {
  fileprivate func isOf(_ rule: TransientRule) -> Bool {
    status == rule.status && bodyIncludes.hasSameBytes(as: rule.bodyIncludes)
  }
}
