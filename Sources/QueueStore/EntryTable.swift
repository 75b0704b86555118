import JSONText
import QueueModel

/// The rows of entries, in `entry` and `entry_text`, with what `PartTable` has of them. Knows nothing of the
/// counts of buckets.
final class EntryTable {
  /// What `EntryRow.read` reads.
  private static let selection = """
    SELECT \(EntryRow.selected.map { "e.\($0)" }.joined(separator: ", ")),
      b.key, t.vars, t.request, t.lane, t.sent_url, t.sent_length, g.name, g.deadline
    FROM entry e JOIN bucket b ON b.number = e.bucket JOIN entry_text t ON t.number = e.number
      LEFT JOIN member_group g ON g.number = e.group_number
    """

  private let insertRow: Statement
  /// By the parts that they update; made when they are needed.
  private var updates: [[EntryRow.Part]: Statement] = [:]
  private let insertText: Statement
  private let updateText: Statement
  private let deleteRow: Statement
  private let deleteText: Statement
  private let byNumber: Statement
  private let numberOfID: Statement
  private let standing: Statement
  private let placement: Statement
  private let page: Statement
  private let groupPage: Statement
  private let bucketPage: Statement
  private let running: Statement
  private let due: Statement
  private let released: Statement
  private let woken: Statement
  private let wokenEarlier: Statement
  private let nextSpread: Statement
  private let expired: Statement
  private let expiredNumbers: Statement
  private let lastNumber: Statement
  private let oldestHeaders: Statement

  private unowned let connection: Connection
  private let parts: PartTable

  init(_ connection: Connection, _ parts: PartTable) {
    self.connection = connection
    self.parts = parts
    func statement(_ sql: String) -> Statement { Statement(connection, sql) }
    func select(_ rest: String) -> Statement { Statement(connection, "\(EntryTable.selection) \(rest)") }
    let names = ["number"] + EntryRow.columns(of: EntryRow.Part.allCases)
    insertRow = statement(
      """
      INSERT INTO entry (\(names.joined(separator: ", ")))
      VALUES (\(names.map { _ in "?" }.joined(separator: ", ")))
      """)
    insertText = statement(
      """
      INSERT OR REPLACE INTO entry_text (number, vars, request, lane, sent_url, sent_length, body)
      VALUES (?, ?, ?, ?, ?, ?, ?)
      """)
    updateText = statement(
      """
      UPDATE entry_text SET vars = ?2, request = ?3, lane = ?4, sent_url = ?5, sent_length = ?6
      WHERE number = ?1
      """)
    deleteRow = statement("DELETE FROM entry WHERE number = ?")
    deleteText = statement("DELETE FROM entry_text WHERE number = ?")
    byNumber = select("WHERE e.number = ?")
    numberOfID = statement("SELECT number FROM entry WHERE id = ?")
    standing = statement(
      """
      SELECT bucket, group_number, expires_at, body_kind,
        \(EntryRow.columns(of: [.state, .settlement]).joined(separator: ", "))
      FROM entry
      WHERE number = ?
      """
    )
    placement = statement("SELECT bucket FROM entry WHERE number = ?")
    groupPage = select("WHERE e.group_number = ? AND e.number > ? ORDER BY e.number")
    page = select("WHERE e.number > ? ORDER BY e.number")
    bucketPage = select("WHERE e.bucket = ? AND e.number > ? ORDER BY e.number")
    running = select("WHERE e.state = 'running' ORDER BY e.number")
    due = select("WHERE e.bucket = ? AND e.due <= ? ORDER BY e.due, e.number")
    released = select("WHERE e.bucket = ? AND e.parked_revision < ? ORDER BY e.parked_revision, e.number")
    woken = select("WHERE e.bucket = ? AND e.outage = ? AND e.spread <= ? ORDER BY e.spread, e.number")
    wokenEarlier = select("WHERE e.bucket = ? AND e.outage < ? ORDER BY e.outage, e.spread, e.number")
    nextSpread = statement(
      "SELECT spread FROM entry WHERE bucket = ? AND outage = ? AND spread > ? ORDER BY spread LIMIT 1")
    let expiry = """
      WHERE e.bucket = ? AND \(mayExpire("e.state")) AND e.expires_at <= ?
      ORDER BY e.expires_at, e.number
      """
    expired = select(expiry)
    expiredNumbers = statement("SELECT e.number FROM entry e \(expiry)")
    lastNumber = statement(
      "SELECT number FROM entry WHERE number <= \(StatementRow.largest) ORDER BY number DESC LIMIT 1")
    oldestHeaders = statement(
      """
      SELECT header_revision FROM entry WHERE settled_event IS NULL ORDER BY header_revision LIMIT 1
      """)
  }

  /// - Parameter body: The bytes of a body whose place is the row.
  func insert(_ entry: Entry, body: [UInt8]?, in place: EntryRow.Place) throws(StoreError) {
    try insertRow.run {
      $0.bind(entry.number)
      for part in EntryRow.Part.allCases {
        EntryRow.bind(part, of: entry, in: place, to: &$0)
      }
    }
    try insertText.run {
      EntryTable.bindText(of: entry, to: &$0)
      $0.bind(blob: body)
    }
    try parts.update(entry, from: nil, bucket: place.bucket)
  }

  /// - Parameters:
  ///   - isMoved: it was in another bucket.
  ///   - withText: What lies in `entry_text` differs as well.
  func update(
    _ entry: Entry, from old: Entry, in place: EntryRow.Place, isMoved: Bool, withText: Bool
  ) throws(StoreError) {
    let changed = EntryRow.changedParts(entry, from: old, isMoved: isMoved)
    try update(of: changed).run {
      for part in changed { EntryRow.bind(part, of: entry, in: place, to: &$0) }
      $0.bind(entry.number)
    }
    if withText { try updateText.run { EntryTable.bindText(of: entry, to: &$0) } }
    try parts.update(entry, from: old, bucket: place.bucket)
  }

  private func update(of parts: [EntryRow.Part]) -> Statement {
    if let statement = updates[parts] { return statement }
    let columns = EntryRow.columns(of: parts).map { "\($0) = ?" }.joined(separator: ", ")
    let statement = Statement(connection, "UPDATE entry SET \(columns) WHERE number = ?")
    updates[parts] = statement
    return statement
  }

  private static func bindText(of entry: Entry, to parameters: inout Parameters) {
    parameters.bind(entry.number)
    parameters.bind(text: entry.vars.text)
    parameters.bind(text: entry.request.storedText[...])
    parameters.bind(entry.lane?.text)
    parameters.bind(entry.expansion?.url?.text)
    parameters.bind(entry.expansion?.length)
  }

  func delete(_ number: Int64, hasParts: Bool) throws(StoreError) {
    if hasParts { try parts.deleteAll(of: number) }
    try deleteRow.run { $0.bind(number) }
    try deleteText.run { $0.bind(number) }
  }

  /// The number of a row that takes the id and cannot be read.
  func damaged(id: EntryID) throws(StoreError) -> Int64? {
    guard try entry(id: id) == nil else { return nil }
    return try number(of: id)
  }

  /// The numbers of rows whose deadline has come and that cannot be read.
  func damaged(in bucket: Int64, expiredAt wall: Int64) throws(StoreError) -> [Int64] {
    let numbers = try expiredNumbers.all({
      $0.bind(bucket)
      $0.bind(wall)
    }) { $0.int() }
    var damaged: [Int64] = []
    for number in numbers where try entry(number: number) == nil { damaged.append(number) }
    return damaged
  }

  /// The number of the bucket that the row is in.
  func bucket(of number: Int64) throws(StoreError) -> Int64? {
    try placement.first({ $0.bind(number) }) { $0.int() }
  }

  /// Where a row counts, read from its short columns only.
  func standing(_ number: Int64) throws(StoreError) -> Standing? {
    try standing.first({ $0.bind(number) }) { row in
      let bucket = row.int()
      let group = row.optionalInt()
      let expiresAt = row.int()
      let isInParts = row.text() == BodyKind.parts.rawValue
      guard var state = EntryRow.readState(&row) else { return nil }
      if isInParts, case .running = state { state = .sending(next: 0) }
      return Standing(
        bucket: bucket, group: group, state: state, expiresAt: expiresAt, isInParts: isInParts)
    }
  }

  /// What the short columns of a row say.
  struct Standing {
    var bucket: Int64
    var group: Int64?
    var state: Entry.State
    var expiresAt: Int64
    var isInParts: Bool
  }

  func entry(number: Int64) throws(StoreError) -> Entry? {
    try first(byNumber) { $0.bind(number) }?.entry
  }

  func entry(id: EntryID) throws(StoreError) -> (entry: Entry, turn: Int64)? {
    guard let number = try number(of: id) else { return nil }
    return try first(byNumber) { $0.bind(number) }
  }

  /// Most ids that are asked about are new: the index tells so, and no row is read.
  private func number(of id: EntryID) throws(StoreError) -> Int64? {
    try numberOfID.first({ $0.bind(id.text) }) { $0.int() }
  }

  func runningEntries() throws(StoreError) -> [Entry] {
    try some(running, .max) { _ in }.map(\.entry)
  }

  /// At most `limit` entries with numbers above `after`, by number.
  func entries(after: Int64, limit: Int) throws(StoreError) -> [(entry: Entry, turn: Int64)] {
    try some(page, limit) { $0.bind(after) }
  }

  /// The same, of these buckets only.
  func entries(
    after: Int64, limit: Int, buckets: [Int64]
  ) throws(StoreError) -> [(entry: Entry, turn: Int64)] {
    var found: [(entry: Entry, turn: Int64)] = []
    for bucket in buckets {
      found += try some(bucketPage, limit) {
        $0.bind(bucket)
        $0.bind(after)
      }
    }
    guard buckets.count > 1 else { return found }
    found.sort { $0.entry.number < $1.entry.number }
    return Array(found.prefix(limit))
  }

  /// The same, of a group.
  func entries(after: Int64, limit: Int, group: Int64) throws(StoreError) -> [(entry: Entry, turn: Int64)] {
    try some(groupPage, limit) {
      $0.bind(group)
      $0.bind(after)
    }
  }

  private func some(
    _ statement: Statement, _ limit: Int, _ bind: (inout Parameters) -> Void
  ) throws(StoreError) -> [(entry: Entry, turn: Int64)] {
    var found: [(entry: Entry, turn: Int64)] = []
    guard limit > 0 else { return found }
    var failure: StoreError?
    try statement.each(bind) { row in
      if let read = read(&row, &failure) { found.append(read) }
      return failure == nil && found.count < limit
    }
    if let failure { throw failure }
    return found
  }

  private func first(
    _ statement: Statement, _ bind: (inout Parameters) -> Void
  ) throws(StoreError) -> (entry: Entry, turn: Int64)? {
    try some(statement, 1, bind).first
  }

  /// What is read of an entry in parts lies in other tables as well.
  private func read(
    _ row: inout StatementRow, _ failure: inout StoreError?
  ) -> (entry: Entry, turn: Int64)? {
    guard let (entry, turn) = EntryRow.read(&row) else { return nil }
    do throws(StoreError) {
      return try parts.complete(entry).map { ($0, turn) }
    } catch {
      failure = error
      return nil
    }
  }

  /// The oldest that is due, then the oldest created.
  func firstDue(in bucket: Int64, at steady: Int64) throws(StoreError) -> Entry? {
    try first(due, bucket) { $0.bind(steady) }
  }

  /// The oldest created of those that wait for credentials newer than a revision below `revision`.
  func firstReleased(in bucket: Int64, before revision: Int64) throws(StoreError) -> Entry? {
    try first(released, bucket) { $0.bind(revision) }
  }

  /// The first that the end of `outage` wakes within `spread`; entries of earlier outages were woken before.
  func firstWoken(in bucket: Int64, by outage: Int64, spread: Double) throws(StoreError) -> Entry? {
    if let entry = try first(wokenEarlier, bucket, { $0.bind(outage) }) { return entry }
    return try first(woken, bucket) {
      $0.bind(outage)
      $0.bind(spread)
    }
  }

  private func first(
    _ statement: Statement, _ bucket: Int64, _ bind: (inout Parameters) -> Void
  ) throws(StoreError) -> Entry? {
    try first(statement) {
      $0.bind(bucket)
      bind(&$0)
    }?.entry
  }

  /// The entry that has parts in flight and may send one more, the longest due first.
  func firstSending(in bucket: Int64, at steady: Int64) throws(StoreError) -> Entry? {
    guard let number = try parts.next(in: bucket, at: steady) else { return nil }
    return try entry(number: number)
  }

  /// The least spread beyond `spread` among the entries that wait for the end of `outage`.
  func nextSpread(in bucket: Int64, outage: Int64, beyond spread: Double) throws(StoreError) -> Double? {
    try nextSpread.first({
      $0.bind(bucket)
      $0.bind(outage)
      $0.bind(spread)
    }) { $0.optionalDouble() }
  }

  /// Entries that do not run and whose deadline has come, the earliest first.
  func expired(in bucket: Int64, at wall: Int64, limit: Int) throws(StoreError) -> [Entry] {
    try some(expired, limit) {
      $0.bind(bucket)
      $0.bind(wall)
    }.map(\.entry)
  }

  func highestNumber() throws(StoreError) -> Int64 {
    try lastNumber.first { $0.int() } ?? 0
  }

  /// The lowest header revision of a live entry.
  func oldestHeaderRevision() throws(StoreError) -> Int64? {
    try oldestHeaders.first { $0.int() }
  }
}
