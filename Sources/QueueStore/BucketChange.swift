import QueueModel

/// What one transaction does to the counts of one bucket.
struct BucketChange {
  private var queued: Int64 = 0
  private var held: Int64 = 0
  private var running: Int64 = 0
  private var awaitingAuth: Int64 = 0
  private var released: Int64 = 0
  private var completed: Int64 = 0
  private var error: Int64 = 0
  private var cancelled: Int64 = 0
  private var waking: Int64 = 0
  /// The earliest of the entries that came.
  private var due: Int64?
  private var expiry: Int64?
  private var nextPart: Int64?
  /// One that went may have been the earliest: only the rows can tell what is.
  private var dueIsStale = false
  private var expiryIsStale = false
  private var nextPartIsStale = false
  /// Entries that came, less those that went, and the least that this was on the way.
  private var balance: Int64 = 0
  private var lowest: Int64 = 0
  private var hasRemoved = false
  var served: Int64 = 0

  mutating func add(_ state: Entry.State, expiresAt: Int64, covering: Int64) {
    count(state, covering: covering, by: 1)
    switch state {
    case .queued(let wait):
      due = min(due ?? .max, wait.due)
      expiry = min(expiry ?? .max, expiresAt)
    case .held, .awaitingAuth: expiry = min(expiry ?? .max, expiresAt)
    case .sending(let next?): nextPart = min(nextPart ?? .max, next)
    case .sending(nil), .running, .settled: break
    }
  }

  mutating func remove(_ state: Entry.State, covering: Int64) {
    count(state, covering: covering, by: -1)
    hasRemoved = true
    switch state {
    case .queued:
      dueIsStale = true
      expiryIsStale = true
    case .held, .awaitingAuth: expiryIsStale = true
    case .sending(.some): nextPartIsStale = true
    case .sending(nil), .running, .settled: break
    }
  }

  private mutating func count(_ state: Entry.State, covering: Int64, by step: Int64) {
    balance += step
    lowest = min(lowest, balance)
    switch state {
    case .queued(let wait):
      queued += step
      if wait.outage != nil { waking += step }
    case .held: held += step
    case .running, .sending: running += step
    case .awaitingAuth(let revision):
      if revision < covering { released += step } else { awaitingAuth += step }
    case .settled(.completed, _): completed += step
    case .settled(.error, _): error += step
    case .settled(.cancelled, _): cancelled += step
    }
  }

  /// What went was in the bucket, so that one which went and came again in another state leaves it filled.
  var mayHaveEmptied: Bool { hasRemoved && balance == lowest }

  /// None of the earliest times went, so that at most new ones come before them.
  var isSimple: Bool { !dueIsStale && !expiryIsStale && !nextPartIsStale }
  var hasTimes: Bool { due != nil || expiry != nil || nextPart != nil }

  private static let counts = """
    queued = queued + ?2, running = running + ?3, awaiting_auth = awaiting_auth + ?4,
    released = released + ?5, completed = completed + ?6, error = error + ?7, cancelled = cancelled + ?8,
    waking = waking + ?9, served = max(served, ?10), held = held + ?11
    """

  private static func earliest(_ column: String, _ parameter: String) -> String {
    "min(ifnull(\(column), \(parameter)), ifnull(\(parameter), \(column)))"
  }

  private static func isEarlier(_ parameter: String, than column: String) -> String {
    "ifnull(\(parameter) < \(column), \(column) IS NULL AND \(parameter) IS NOT NULL)"
  }

  /// Everything.
  static let sql = """
    UPDATE bucket SET \(counts),
      due = CASE WHEN ?12
        THEN (SELECT due FROM entry WHERE bucket = ?1 AND due IS NOT NULL ORDER BY due LIMIT 1)
        ELSE \(earliest("due", "?13")) END,
      expiry = CASE WHEN ?14
        THEN (
          SELECT expires_at FROM entry WHERE bucket = ?1 AND \(mayExpire())
          ORDER BY expires_at LIMIT 1)
        ELSE \(earliest("expiry", "?15")) END,
      next_part = CASE WHEN ?16
        THEN (SELECT next FROM parts WHERE bucket = ?1 AND next IS NOT NULL ORDER BY next LIMIT 1)
        ELSE \(earliest("next_part", "?17")) END
    WHERE number = ?1
    """

  /// Of a simple change the counts: naming a time in an update writes its index, changed or not.
  static let countsSQL = "UPDATE bucket SET \(counts) WHERE number = ?1"

  /// Of a simple change the times, after the counts; writes nothing where none of them is earlier.
  static let timesSQL = """
    UPDATE bucket SET
      due = \(earliest("due", "?2")), expiry = \(earliest("expiry", "?3")),
      next_part = \(earliest("next_part", "?4"))
    WHERE number = ?1 AND (\(isEarlier("?2", than: "due")) OR \(isEarlier("?3", than: "expiry"))
      OR \(isEarlier("?4", than: "next_part")))
    """

  func bind(to parameters: inout Parameters, bucket: Int64) {
    bindCounts(to: &parameters, bucket: bucket)
    parameters.bind(dueIsStale)
    parameters.bind(due)
    parameters.bind(expiryIsStale)
    parameters.bind(expiry)
    parameters.bind(nextPartIsStale)
    parameters.bind(nextPart)
  }

  func bindCounts(to parameters: inout Parameters, bucket: Int64) {
    parameters.bind(bucket)
    for count in [queued, running, awaitingAuth, released, completed, error, cancelled, waking, served, held]
    {
      parameters.bind(count)
    }
  }

  func bindTimes(to parameters: inout Parameters, bucket: Int64) {
    parameters.bind(bucket)
    parameters.bind(due)
    parameters.bind(expiry)
    parameters.bind(nextPart)
  }
}
