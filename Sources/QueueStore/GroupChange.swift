import QueueModel

/// What one transaction does to the counts and sums of one group.
struct GroupChange {
  private(set) var rows: Int64 = 0
  private(set) var live: Int64 = 0
  private(set) var counts = SettledCounts()
  private(set) var progress = GroupProgress()
  /// Of the last member that was written.
  private(set) var key: EntryKey?
  /// The newest that enqueued a member.
  var host: HostID?
  private(set) var firstAttemptAt: Int64?
  /// Live members by bucket.
  private(set) var members: [Int64: MemberChange] = [:]

  mutating func add(_ entry: Entry, in place: BucketTable.Place) {
    rows += 1
    key = entry.key
    progress.count(entry, by: 1)
    count(entry.state, in: place, by: 1)
  }

  /// The entry leaves the group, or goes on as another value of itself.
  mutating func remove(_ entry: Entry, from place: BucketTable.Place) {
    rows -= 1
    progress.count(entry, by: -1)
    count(entry.state, in: place, by: -1)
  }

  /// An attempt of a member began.
  mutating func noteAttempt(at wall: Int64) { firstAttemptAt = firstAttemptAt ?? wall }

  /// Its row goes, and what it has been still counts.
  mutating func removeRow() { rows -= 1 }

  mutating func count(_ state: Entry.State, in place: BucketTable.Place, by step: Int64) {
    if case .settled(let kind, _) = state { return counts.count(kind, by: step) }
    live += step
    members[place.bucket, default: MemberChange()].count(state, covering: place.covering, by: step)
  }

  /// A member is counted in another bucket from now on.
  mutating func move(_ state: Entry.State, from old: BucketTable.Place, to new: BucketTable.Place) {
    count(state, in: old, by: -1)
    count(state, in: new, by: 1)
  }

  // Another generation begins with the first live member, and with it the time that its limit counts.
  private static let begins = "settled_event IS NOT NULL AND live = 0 AND ?3 > 0"

  static let sql = """
    UPDATE member_group SET
      rows = rows + ?2, live = live + ?3, completed = completed + ?4, error = error + ?5,
      cancelled = cancelled + ?6, weight = weight + ?7, done = done + ?8, bytes_sent = bytes_sent + ?9,
      total_bytes = total_bytes + ?10, key = ifnull(?11, key), host = ifnull(?12, host),
      deadline = iif(\(begins), ?13, ifnull(first_attempt_at, ?13)) + deadline_ms,
      first_attempt_at = iif(\(begins), ?13, ifnull(first_attempt_at, ?13))
    WHERE number = ?1
    """

  func bind(to parameters: inout Parameters, group: Int64) {
    for value in [group, rows, live, counts.completed, counts.error, counts.cancelled] {
      parameters.bind(value)
    }
    for value in [progress.weight, progress.done, progress.bytesSent, progress.totalBytes] {
      parameters.bind(value)
    }
    parameters.bind(key?.text)
    parameters.bind(host?.number)
    parameters.bind(firstAttemptAt)
  }
}

/// What one transaction does to the live members of a group in one bucket.
struct MemberChange {
  private var counts = MemberCounts()
  private var covering: Int64 = 0

  mutating func count(_ state: Entry.State, covering: Int64, by step: Int64) {
    self.covering = max(self.covering, covering)
    switch state {
    case .queued, .held: counts.queued += step
    case .running, .sending: counts.running += step
    case .awaitingAuth(let revision):
      if revision < covering { counts.released += step } else { counts.awaitingAuth += step }
    case .settled: break
    }
  }

  // A patch lets everybody in a bucket go, and no call writes a number of rows that grows with the queue
  // (D1): who was waiting when the covering patch was an older one has been let go since.
  static let sql = """
    UPDATE member SET
      queued = queued + ?3, running = running + ?4,
      released = released + iif(covering < ?7, awaiting_auth, 0) + ?6,
      awaiting_auth = iif(covering < ?7, 0, awaiting_auth) + ?5, covering = max(covering, ?7)
    WHERE group_number = ?1 AND bucket = ?2
    """

  func bind(to parameters: inout Parameters, group: Int64, bucket: Int64) {
    for value in [
      group, bucket, counts.queued, counts.running, counts.awaitingAuth, counts.released, covering,
    ] { parameters.bind(value) }
  }
}
