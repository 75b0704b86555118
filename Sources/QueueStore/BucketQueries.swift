import QueueModel

/// Reads buckets. The counts must have been flushed before.
final class BucketQueries {
  private static let selection = """
    SELECT number, key, origin, priority, wifi_only, paused_group, queued, running, awaiting_auth, released,
      completed, error, cancelled, waking, due, expiry, next_part, held
    FROM bucket
    """

  private let ready: Statement
  private let every: Statement
  private let ofKey: Statement
  private let byNumber: Statement
  private let laterDue: Statement
  private let laterPart: Statement
  private let byExpiry: Statement
  private let passed: Statement
  private let waking: Statement

  init(_ connection: Connection) {
    func select(_ rest: String) -> Statement { Statement(connection, "\(BucketQueries.selection) \(rest)") }
    // Four lookups by index: what is due, what goes on with its parts, what a patch let go, what the end of
    // an outage may wake. One bucket may come several times. Sorted by SQLite, each question would cost a
    // temporary table.
    ready = Statement(
      connection,
      """
      SELECT served, number FROM bucket WHERE due <= ?2 AND due IS NOT NULL AND priority = ?1
      UNION ALL SELECT served, number FROM bucket
        WHERE next_part <= ?2 AND next_part IS NOT NULL AND priority = ?1
      UNION ALL SELECT served, number FROM bucket WHERE released > 0 AND priority = ?1
      UNION ALL SELECT b.served, b.number FROM bucket b CROSS JOIN outage o ON o.origin = b.origin
        WHERE o.ended_at IS NOT NULL AND b.waking > 0 AND b.priority = ?1
      """)
    every = select("ORDER BY number")
    ofKey = select("WHERE key = ? ORDER BY number")
    byNumber = select("WHERE number = ?")
    laterPart = select("WHERE next_part > ? AND next_part IS NOT NULL ORDER BY next_part")
    laterDue = select("WHERE due > ? AND due IS NOT NULL ORDER BY due")
    byExpiry = select("WHERE expiry IS NOT NULL ORDER BY expiry")
    passed = select("WHERE expiry <= ? AND expiry IS NOT NULL ORDER BY expiry")
    waking = select("WHERE origin = ? AND waking > 0")
  }

  /// Buckets that may hold something to send now, the least recently served first; only those that `isOpen`
  /// admits.
  func ready(
    _ priority: Descriptor.Priority, at steady: Int64, limit: Int, where isOpen: (Bucket) -> Bool
  ) throws(StoreError) -> [Bucket] {
    var buckets: [Bucket] = []
    guard limit > 0 else { return buckets }
    var found = try ready.all({
      $0.bind(priority.rawValue)
      $0.bind(steady)
    }) { (served: $0.int(), number: $0.int()) }
    if found.count > 1 { found.sort { $0 < $1 } }
    var last: Int64?
    for (_, number) in found where number != last && buckets.count < limit {
      last = number
      if let bucket = try bucket(number), isOpen(bucket) { buckets.append(bucket) }
    }
    return buckets
  }

  func all() throws(StoreError) -> [Bucket] {
    try every.all(BucketQueries.nothing, BucketQueries.read)
  }

  func bucket(_ number: Int64) throws(StoreError) -> Bucket? {
    try byNumber.first({ $0.bind(number) }, BucketQueries.read)
  }

  func all(of key: EntryKey) throws(StoreError) -> [Bucket] {
    try ofKey.all({ $0.bind(key.text) }, BucketQueries.read)
  }

  /// The earliest due time after `steady` of a bucket that `isOpen` admits.
  func nextDue(after steady: Int64, where isOpen: (Bucket) -> Bool) throws(StoreError) -> Int64? {
    let due = try laterDue.first({ $0.bind(steady) }) { row in
      BucketQueries.read(&row).flatMap { isOpen($0) ? $0.due : nil }
    }
    let nextPart = try laterPart.first({ $0.bind(steady) }) { row in
      BucketQueries.read(&row).flatMap { isOpen($0) ? $0.nextPart : nil }
    }
    return [due, nextPart].compactMap(\.self).min()
  }

  /// The earliest deadline of a bucket that `isOpen` admits.
  func nextExpiry(where isOpen: (Bucket) -> Bool) throws(StoreError) -> Int64? {
    try byExpiry.first { row in
      BucketQueries.read(&row).flatMap { isOpen($0) ? $0.expiry : nil }
    }
  }

  /// Buckets with a deadline up to `wall` that `isOpen` admits, the earliest first.
  func expiring(at wall: Int64, limit: Int, where isOpen: (Bucket) -> Bool) throws(StoreError) -> [Bucket] {
    var buckets: [Bucket] = []
    try passed.each({ $0.bind(wall) }) { row in
      let bucket = BucketQueries.read(&row)
      if let bucket, !row.isOutOfRange, isOpen(bucket) { buckets.append(bucket) }
      return buckets.count < limit
    }
    return buckets
  }

  /// Buckets of the origin with entries that wait for the end of an outage.
  func waking(to origin: Origin) throws(StoreError) -> [Bucket] {
    try waking.all({ $0.bind(origin.text) }, BucketQueries.read)
  }

  private static let nothing: @Sendable (inout Parameters) -> Void = { _ in }

  private static func read(_ row: inout StatementRow) -> Bucket? {
    let number = row.int()
    let key = EntryKey(row.text())
    let origin = Origin(text: row.text())
    let priority = Descriptor.Priority(rawValue: row.text())
    let wifiOnly = row.int()
    let group = row.text()
    guard let priority else { return nil }
    var bucket = Bucket(
      number: number,
      identity: Bucket.Identity(
        key: key, origin: origin, priority: priority, wifiOnly: wifiOnly < 0 ? nil : wifiOnly == 1,
        pausedGroup: group.isEmpty ? nil : EntryGroup(group)))
    bucket.queued = row.int()
    bucket.running = row.int()
    bucket.awaitingAuth = row.int()
    bucket.released = row.int()
    bucket.completed = row.int()
    bucket.error = row.int()
    bucket.cancelled = row.int()
    bucket.waking = row.int()
    bucket.due = row.optionalInt()
    bucket.expiry = row.optionalInt()
    bucket.nextPart = row.optionalInt()
    bucket.held = row.int()
    return bucket
  }
}
