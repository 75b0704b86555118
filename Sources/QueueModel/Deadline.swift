/// How long an entry may take (D4, D49).
extension Entry {
  /// Wall clock, ms; inclusive: the earliest of the limits that count for it now.
  package var deadline: Int64 { min(expiresAt, groupDeadline ?? .max) }

  /// Names the limit that `deadline` comes from, for the message of the outcome.
  var expiryMessage: String {
    if let groupDeadline, groupDeadline < expiresAt {
      return "groupDeadlineMs has passed since the first attempt of the group"
    }
    if let limit = ownLimit, limit <= expiresAt { return "deadlineMs has passed since the first attempt" }
    return "expiresAt has passed"
  }

  /// When `deadlineMs` passes; nil before the first attempt.
  private var ownLimit: Int64? {
    guard let deadlineMs, let firstAttemptAt else { return nil }
    let (sum, overflow) = firstAttemptAt.addingReportingOverflow(deadlineMs)
    return overflow ? Bounds.integer : min(sum, Bounds.integer)
  }

  /// The first attempt of a generation starts the time of `deadlineMs`.
  mutating func noteAttempt(now: Moment) {
    firstAttemptAt = firstAttemptAt ?? now.wall
    limitExpiry()
  }

  /// `expiresAt` is no later than `deadlineMs` allows.
  mutating func limitExpiry() {
    if let limit = ownLimit { expiresAt = min(expiresAt, limit) }
  }
}
