/// When a screen does what, so that neither a queue in a hurry nor a large one keeps it busy. Boot clock, ms.
struct WatchTiming: Sendable {
  private var refreshedAt = Int64.min / 2
  /// How long the last reading took.
  private var cost: Int64 = 0
  private var isStale = true
  private var paintedAt = Int64.min / 2
  private var isChanged = true
  private var isUrgent = true
  private var attachedAt = Int64.min / 2
  private var askedAt = Int64.min / 2

  /// The shortest and the longest time between two readings of the database.
  static let least: Int64 = 100
  static let most: Int64 = 1000
  /// Between two pictures, unless somebody typed a key.
  static let frame: Int64 = 100
  /// Between two looks for somebody who serves the queue.
  static let attach: Int64 = 300
  /// Between two rounds of questions.
  static let round: Int64 = 1000
  static let silence: Int64 = 4000
  static let message: Int64 = 5000
  /// An escape to which nothing more belongs.
  static let escape: Int64 = 50

  // MARK: Reading

  /// What is shown is out of date.
  mutating func wantsRefresh(soon: Bool = false) {
    isStale = true
    if soon { refreshedAt = .min / 2 }
  }

  private var refreshAt: Int64 {
    refreshedAt + (isStale ? max(Self.least, cost * 10) : max(Self.most, cost * 10))
  }

  func isRefreshDue(at now: Int64) -> Bool { now >= refreshAt }

  mutating func refreshed(from begin: Int64, to end: Int64) {
    cost = end - begin
    refreshedAt = end
    isStale = false
    isChanged = true
  }

  // MARK: Drawing

  /// Now, since a person waits for it.
  mutating func wantsPaint() { (isChanged, isUrgent) = (true, true) }

  mutating func heard() { isChanged = true }

  private var paintAt: Int64 { !isChanged ? .max : isUrgent ? .min : paintedAt + Self.frame }

  func isPaintDue(at now: Int64) -> Bool { now >= paintAt }

  mutating func painted(at now: Int64) {
    (isChanged, isUrgent) = (false, false)
    paintedAt = now
  }

  // MARK: The process that serves

  func isAttachDue(at now: Int64) -> Bool { now >= attachedAt + Self.attach }
  mutating func triedToAttach(at now: Int64) { attachedAt = now }

  func isAskDue(at now: Int64) -> Bool { now >= askedAt + Self.round }
  mutating func asked(at now: Int64) { askedAt = now }
  mutating func wantsAsk() { askedAt = .min / 2 }

  /// ms until something is due.
  func patience(at now: Int64) -> Int64 {
    let next = min(refreshAt, paintAt, now + Self.attach)
    return next <= now ? 0 : next - now
  }
}
