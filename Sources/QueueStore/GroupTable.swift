import QueueModel

/// The counts, sums and limits of each group (D48, D49), kept in the transaction that changes the members.
/// Changes gather in memory and are written before a group is read and before the commit.
final class GroupTable {
  private let select: Statement
  private let numberOfName: Statement
  private let insertRow: Statement
  private let updateRow: Statement
  private let insertMember: Statement
  private let updateMember: Statement
  private let deleteMember: Statement
  private let saveRow: Statement
  private let saveDeadline: Statement
  private let deleteRow: Statement
  private let highest: Statement
  private let acknowledgeRow: Statement
  private let page: Statement

  /// Groups met since the cache was emptied; bounded.
  private var numbers: [EntryGroup: Int64] = [:]
  private var changes: [Int64: GroupChange] = [:]
  /// Whose members changed in this transaction.
  private(set) var changed: Set<Int64> = []
  /// Of which a member has settled in this transaction.
  private(set) var settling: Set<Int64> = []
  private var lastNumber: Int64 = 0

  private static let cacheLimit = 4096

  init(_ connection: Connection) throws(StoreError) {
    func statement(_ sql: String) -> Statement { Statement(connection, sql) }
    select = statement("\(GroupTable.selection) WHERE number = ?")
    numberOfName = statement("SELECT number FROM member_group WHERE name = ?")
    insertRow = statement("INSERT INTO member_group (number, name, key) VALUES (?, ?, ?)")
    updateRow = statement(GroupChange.sql)
    insertMember = statement("INSERT OR IGNORE INTO member (group_number, bucket) VALUES (?, ?)")
    updateMember = statement(MemberChange.sql)
    deleteMember = statement(
      """
      DELETE FROM member WHERE group_number = ? AND bucket = ?
        AND queued + running + awaiting_auth + released = 0
      """)
    saveRow = statement(
      """
      UPDATE member_group SET generation = ?2, settled_event = ?3, is_acknowledged = ?4,
        first_attempt_at = ?5, deadline = ?5 + deadline_ms, forgetting = NULL
      WHERE number = ?1
      """)
    saveDeadline = statement(
      "UPDATE member_group SET deadline_ms = ?2, deadline = first_attempt_at + ?2 WHERE number = ?1")
    deleteRow = statement("DELETE FROM member_group WHERE number = ?")
    highest = statement(
      "SELECT ifnull(max(number), 0) FROM member_group WHERE number <= \(StatementRow.largest)")
    acknowledgeRow = statement(
      """
      UPDATE member_group SET is_acknowledged = 1, forgetting = 0 WHERE number = ? AND settled_event = ?
      """)
    page = statement(
      "SELECT number, name FROM member_group WHERE number > ? AND live > 0 ORDER BY number LIMIT ?")
    lastNumber = try highest.first { $0.int() } ?? 0
  }

  // MARK: Writing

  /// The number of the entry's group, which is made if there is none; nil for an entry without one.
  func number(for entry: Entry) throws(StoreError) -> Int64? {
    guard let group = entry.group else { return nil }
    if let number = try number(of: group) { return number }
    lastNumber += 1
    let number = lastNumber
    try insertRow.run {
      $0.bind(number)
      $0.bind(group.text)
      $0.bind(entry.key.text)
    }
    numbers[group] = number
    return number
  }

  /// The number of a group; nil where there is none.
  func number(of group: EntryGroup) throws(StoreError) -> Int64? {
    if let number = numbers[group] { return number }
    guard let number = try numberOfName.first({ $0.bind(group.text) }, { $0.int() }) else { return nil }
    if numbers.count >= GroupTable.cacheLimit { numbers.removeAll() }
    numbers[group] = number
    return number
  }

  /// Notes what a transaction does to a group.
  func change(_ number: Int64, _ work: (inout GroupChange) -> Void) {
    work(&changes[number, default: GroupChange()])
    changed.insert(number)
  }

  /// Notes that a member has settled.
  func noteSettled(_ number: Int64) { settling.insert(number) }

  /// Notes that the group has to be looked at again.
  func touch(_ number: Int64) { changed.insert(number) }

  /// Writes what has gathered.
  func flush() throws(StoreError) {
    guard !changes.isEmpty else { return }
    for (number, change) in changes {
      try updateRow.run { change.bind(to: &$0, group: number) }
      for (bucket, members) in change.members {
        func name(_ parameters: inout Parameters) {
          parameters.bind(number)
          parameters.bind(bucket)
        }
        try insertMember.run(name)
        try updateMember.run { members.bind(to: &$0, group: number, bucket: bucket) }
        try deleteMember.run(name)
      }
    }
    changes.removeAll(keepingCapacity: true)
  }

  /// Generation, end and first attempt.
  func save(_ group: Group, number: Int64) throws(StoreError) {
    try saveRow.run {
      $0.bind(number)
      $0.bind(group.generation)
      $0.bind(group.settled?.eventID)
      $0.bind(group.settled?.isAcknowledged ?? false)
      $0.bind(group.firstAttemptAt)
    }
  }

  func save(deadlineMs: Int64, of number: Int64) throws(StoreError) {
    try flush()
    try saveDeadline.run {
      $0.bind(number)
      $0.bind(deadlineMs)
    }
  }

  /// A host has the outcome: members that were kept are to go (D42).
  func acknowledge(_ outcome: GroupOutcome) throws(StoreError) {
    guard let number = try number(of: outcome.group) else { return }
    try acknowledgeRow.run {
      $0.bind(number)
      $0.bind(outcome.eventID)
    }
    touch(number)
  }

  func delete(_ number: Int64) throws(StoreError) {
    try deleteRow.run { $0.bind(number) }
    numbers.removeAll()
  }

  func transactionEnded() {
    changed.removeAll()
    settling.removeAll()
  }

  /// The transaction was rolled back.
  func forget() {
    numbers.removeAll()
    changes.removeAll()
    transactionEnded()
  }

  // MARK: Reading; what has gathered must have been flushed

  private static let selection = """
    SELECT name, generation, settled_event, is_acknowledged, rows, live, completed, error, cancelled, weight,
      done, bytes_sent, total_bytes, deadline_ms, first_attempt_at, key, host
    FROM member_group
    """

  func group(_ number: Int64) throws(StoreError) -> Group? {
    try select.first({ $0.bind(number) }) { row in
      var group = Group(name: EntryGroup(row.text()), key: EntryKey(""))
      group.generation = row.int()
      let event = row.optionalText()
      let isAcknowledged = row.bool()
      group.settled = event.map { Group.Settled(eventID: $0, isAcknowledged: isAcknowledged) }
      group.rows = row.int()
      group.live = row.int()
      group.counts = SettledCounts(completed: row.int(), error: row.int(), cancelled: row.int())
      group.progress.weight = row.optionalDouble() ?? 0
      group.progress.done = row.optionalDouble() ?? 0
      group.progress.bytesSent = row.optionalDouble() ?? 0
      group.progress.totalBytes = row.optionalDouble() ?? 0
      group.deadlineMs = row.optionalInt()
      group.firstAttemptAt = row.optionalInt()
      group.key = EntryKey(row.text())
      group.host = row.optionalBits().map(HostID.init)
      return group
    }
  }

  /// Groups with live members, and numbers above `number`.
  func names(after number: Int64, limit: Int) throws(StoreError) -> [(number: Int64, name: EntryGroup)] {
    try page.all({
      $0.bind(number)
      $0.bind(Int64(limit))
    }) { ($0.int(), EntryGroup($0.text())) }
  }
}
