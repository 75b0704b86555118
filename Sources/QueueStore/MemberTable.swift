import QueueModel

/// Live members of one group in one bucket.
package struct MemberCounts: Sendable, Equatable {
  package var queued: Int64 = 0
  package var running: Int64 = 0
  /// Wait for credentials that no patch has brought.
  package var awaitingAuth: Int64 = 0
  /// Waited for credentials; a newer patch has let them go.
  package var released: Int64 = 0

  package init(queued: Int64 = 0, running: Int64 = 0, awaitingAuth: Int64 = 0, released: Int64 = 0) {
    self.queued = queued
    self.running = running
    self.awaitingAuth = awaitingAuth
    self.released = released
  }

  package mutating func add(_ other: MemberCounts) {
    queued += other.queued
    running += other.running
    awaitingAuth += other.awaitingAuth
    released += other.released
  }

  package var all: Int64 { waiting + running + awaitingAuth }
  /// Shown as queued.
  package var waiting: Int64 { queued + released }
}

/// Where the members of groups stand: questions by group and bucket. What has gathered must have been
/// flushed.
final class MemberTable {
  private let ofGroup: Statement
  private let misplaced: Statement
  private let overdue: Statement
  private let deadlines: Statement
  private let live: Statement
  private let waiting: Statement
  private let rows: Statement
  private let failed: Statement
  private let kept: Statement
  private let selectForgetting: Statement
  private let saveForgetting: Statement
  private let moveRow: Statement
  private let moveParts: Statement
  private let apart: Statement

  init(_ connection: Connection) {
    func statement(_ sql: String) -> Statement { Statement(connection, sql) }
    let counts = """
      m.queued, m.running, iif(m.covering < b.covering, 0, m.awaiting_auth),
        m.released + iif(m.covering < b.covering, m.awaiting_auth, 0)
      """
    let buckets = "FROM member m JOIN bucket b ON b.number = m.bucket"
    ofGroup = statement("SELECT m.bucket, \(counts) \(buckets) WHERE m.group_number = ? ORDER BY m.bucket")
    misplaced = statement(
      """
      SELECT m.bucket, \(counts) \(buckets)
      WHERE m.group_number = ?1 AND (b.paused_group = '') = ?2
        AND m.queued + m.awaiting_auth + m.released > 0
      ORDER BY m.bucket
      """)
    let late = "FROM member_group g WHERE g.deadline IS NOT NULL AND g.live > 0"
    overdue = statement("SELECT g.number \(late) AND g.deadline <= ? ORDER BY g.deadline")
    deadlines = statement(
      """
      SELECT g.number, g.deadline \(late) AND (g.deadline, g.number) > (?, ?)
      ORDER BY g.deadline, g.number LIMIT ?
      """)
    live = statement(
      """
      SELECT number FROM entry INDEXED BY entry_live
      WHERE group_number = ? AND settled_event IS NULL AND number > ? ORDER BY number LIMIT ?
      """)
    waiting = statement(
      """
      SELECT number FROM entry INDEXED BY entry_member
      WHERE group_number = ? AND bucket = ? AND settled_event IS NULL
        AND \(mayExpire())
      ORDER BY number LIMIT ?
      """)
    rows = statement(
      "SELECT number FROM entry WHERE group_number = ? AND number > ? ORDER BY number LIMIT ?")
    failed = statement(
      """
      SELECT id FROM entry INDEXED BY entry_failed WHERE group_number = ? AND state = 'error'
      ORDER BY number LIMIT ?
      """)
    kept = statement(
      """
      SELECT number FROM entry INDEXED BY entry_kept
      WHERE group_number = ? AND is_kept = 1 AND number > ? ORDER BY number LIMIT ?
      """)
    selectForgetting = statement(
      "SELECT number, forgetting FROM member_group WHERE forgetting IS NOT NULL ORDER BY number LIMIT 1")
    saveForgetting = statement("UPDATE member_group SET forgetting = ?2 WHERE number = ?1")
    moveRow = statement("UPDATE entry SET bucket = ?2 WHERE number = ?1")
    moveParts = statement("UPDATE parts SET bucket = ?2 WHERE number = ?1")
    apart = statement("SELECT DISTINCT paused_group FROM bucket WHERE paused_group <> ''")
  }

  /// Live members by the number of their bucket.
  func counts(of group: Int64) throws(StoreError) -> [(bucket: Int64, counts: MemberCounts)] {
    try ofGroup.all({ $0.bind(group) }, MemberTable.read)
  }

  /// Members that do not run and whose bucket is not that of a paused group, or is though the group goes on.
  func misplaced(of group: Int64, isPaused: Bool) throws(StoreError) -> [(
    bucket: Int64, counts: MemberCounts
  )] {
    try misplaced.all(
      {
        $0.bind(group)
        $0.bind(isPaused)
      }, MemberTable.read)
  }

  private static func read(_ row: inout StatementRow) -> (bucket: Int64, counts: MemberCounts)? {
    let bucket = row.int()
    var counts = MemberCounts()
    counts.queued = row.int()
    counts.running = row.int()
    counts.awaitingAuth = row.int()
    counts.released = row.int()
    return (bucket, counts)
  }

  /// Groups with live members whose limit has passed.
  func overdue(at wall: Int64) throws(StoreError) -> [Int64] {
    try overdue.all({ $0.bind(wall) }) { $0.int() }
  }

  /// Limits that count, the earliest first, behind the one given.
  func deadlines(
    after last: (group: Int64, deadline: Int64), limit: Int
  ) throws(StoreError) -> [(group: Int64, deadline: Int64)] {
    try deadlines.all({
      $0.bind(last.deadline)
      $0.bind(last.group)
      $0.bind(Int64(limit))
    }) { ($0.int(), $0.int()) }
  }

  /// Numbers of live members above `number`.
  func live(of group: Int64, after number: Int64, limit: Int) throws(StoreError) -> [Int64] {
    try live.all({ MemberTable.bind(group, number, limit, to: &$0) }) { $0.int() }
  }

  /// Numbers of members of a bucket that wait, running ones left out.
  func waiting(of group: Int64, in bucket: Int64, limit: Int) throws(StoreError) -> [Int64] {
    try waiting.all({ MemberTable.bind(group, bucket, limit, to: &$0) }) { $0.int() }
  }

  /// Numbers of members above `number`, settled or not.
  func rows(of group: Int64, after number: Int64, limit: Int) throws(StoreError) -> [Int64] {
    try rows.all({ MemberTable.bind(group, number, limit, to: &$0) }) { $0.int() }
  }

  private static func bind(_ group: Int64, _ number: Int64, _ limit: Int, to parameters: inout Parameters) {
    parameters.bind(group)
    parameters.bind(number)
    parameters.bind(Int64(limit))
  }

  func failed(of group: Int64, limit: Int) throws(StoreError) -> [EntryID] {
    try failed.all({
      $0.bind(group)
      $0.bind(Int64(limit))
    }) { EntryID($0.text()) }
  }

  /// Numbers of members that are kept (D42).
  func kept(of group: Int64, after number: Int64, limit: Int) throws(StoreError) -> [Int64] {
    try kept.all({ MemberTable.bind(group, number, limit, to: &$0) }) { $0.int() }
  }

  /// A group whose kept members are to go, and the number up to which they have.
  func forgetting() throws(StoreError) -> (group: Int64, through: Int64)? {
    try selectForgetting.first { ($0.int(), $0.int()) }
  }

  /// nil when all of them have gone.
  func save(forgottenThrough number: Int64?, of group: Int64) throws(StoreError) {
    try saveForgetting.run {
      $0.bind(group)
      $0.bind(number)
    }
  }

  /// Counts nothing.
  func move(_ number: Int64, to bucket: Int64, hasParts: Bool) throws(StoreError) {
    for statement in hasParts ? [moveRow, moveParts] : [moveRow] {
      try statement.run {
        $0.bind(number)
        $0.bind(bucket)
      }
    }
  }

  /// Groups that some bucket still stands apart for.
  func groupsApart() throws(StoreError) -> [EntryGroup] {
    try apart.all { EntryGroup($0.text()) }
  }
}
