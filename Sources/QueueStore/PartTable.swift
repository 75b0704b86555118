import JSONText
import QueueModel

/// The rows of entries in parts: one in `parts`, one in `part` for each that was begun, one in `part_text`
/// for each of the plan. A change writes the rows of the parts that it is about and no others.
final class PartTable {
  private let select: Statement
  private let open: Statement
  private let save: Statement
  private let savePart: Statement
  private let accept: Statement
  private let next: Statement
  private let delete: [Statement]
  private let deleteBegun: Statement
  private let deleteTexts: Statement
  private let insertText: Statement
  private let text: Statement
  private let texts: Statement

  private static let columns = """
    state, due, is_backoff, outage, spread, generation, ordinal, request_id, revision, streak, cut_answers,
      followed_reuse, rules
    """

  private unowned let connection: Connection

  init(_ connection: Connection) {
    self.connection = connection
    func statement(_ sql: String) -> Statement { Statement(connection, sql) }
    select = statement(
      """
      SELECT p.count, p.begun, p.accepted, p.accepted_bytes, p.latest, p.since, p.next, t.url
      FROM parts p JOIN part_text t ON t.entry = p.number AND t.position = p.latest WHERE p.number = ?
      """)
    open = statement(
      """
      SELECT position, \(PartTable.columns) FROM part WHERE entry = ? AND state <> 'accepted'
      ORDER BY position
      """)
    save = statement(
      """
      INSERT OR REPLACE INTO parts
        (number, bucket, count, begun, accepted, accepted_bytes, latest, since, next)
      VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)
      """)
    savePart = statement(
      """
      INSERT OR REPLACE INTO part (entry, position, \(PartTable.columns))
      VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
      """)
    accept = statement(
      """
      UPDATE part SET state = 'accepted', due = NULL, is_backoff = NULL, outage = NULL, spread = NULL
      WHERE entry = ? AND position = ?
      """)
    next = statement("SELECT number FROM parts WHERE bucket = ? AND next <= ? ORDER BY next, number")
    deleteBegun = statement("DELETE FROM part WHERE entry = ?")
    deleteTexts = statement("DELETE FROM part_text WHERE entry = ?")
    delete = [statement("DELETE FROM parts WHERE number = ?"), deleteBegun, deleteTexts]
    insertText = statement(
      """
      INSERT INTO part_text (entry, position, url, headers, range_start, range_end) VALUES (?, ?, ?, ?, ?, ?)
      """)
    text = statement(
      "SELECT url, headers, range_start, range_end FROM part_text WHERE entry = ? AND position = ?")
    texts = statement(
      "SELECT url, headers, range_start, range_end FROM part_text WHERE entry = ? ORDER BY position")
  }

  // MARK: Standing

  /// The entry with its parts, when it is sent in parts; nil when they cannot be read.
  func complete(_ entry: Entry) throws(StoreError) -> Entry? {
    guard entry.body.kind == .parts else { return entry }
    let row = try select.first({ $0.bind(entry.number) }) { PartTable.read(&$0) }
    guard let row else { return nil }
    var parts = row.parts
    var isWhole = true
    parts.open = try open.all({ $0.bind(entry.number) }) { row in
      let part = PartTable.readPart(&row)
      if part == nil { isWhole = false }
      return part
    }
    guard isWhole else { return nil }
    var entry = entry
    entry.parts = parts
    // The row of the entry does not hold what is in flight.
    if case .running = entry.state { entry.state = .sending(next: row.next) }
    return entry
  }

  /// Writes what differs from `old`; nil when there was no row.
  func update(_ entry: Entry, from old: Entry?, bucket: Int64) throws(StoreError) {
    guard let parts = entry.parts else {
      if old?.parts != nil { try deleteAll(of: entry.number) }
      return
    }
    let isSamePlan = old?.parts?.since == parts.since
    if !isSamePlan, old?.parts != nil { try deleteBegun.run { $0.bind(entry.number) } }
    try save.run {
      $0.bind(entry.number)
      $0.bind(bucket)
      $0.bind(Int64(parts.count))
      $0.bind(Int64(parts.begun))
      $0.bind(Int64(parts.accepted))
      $0.bind(parts.acceptedBytes)
      $0.bind(Int64(parts.latest.index))
      $0.bind(parts.since)
      if case .sending(let next) = entry.state { $0.bind(next) } else { $0.bindNull() }
    }
    let before = isSamePlan ? old?.parts?.open ?? [] : []
    for part in parts.open where !before.contains(part) {
      try savePart.run { PartTable.bind(part, of: entry.number, to: &$0) }
    }
    for part in before where !parts.open.contains(where: { $0.index == part.index }) {
      try accept.run {
        $0.bind(entry.number)
        $0.bind(Int64(part.index))
      }
    }
  }

  func deleteAll(of number: Int64) throws(StoreError) {
    for statement in delete { try statement.run { $0.bind(number) } }
  }

  /// The number of the entry of the bucket that has parts in flight and may send one more, the longest due
  /// first.
  func next(in bucket: Int64, at steady: Int64) throws(StoreError) -> Int64? {
    try next.first({
      $0.bind(bucket)
      $0.bind(steady)
    }) { $0.int() }
  }

  private static func read(_ row: inout StatementRow) -> (parts: Parts, next: Int64?)? {
    let (count, begun, accepted, bytes) = (row.int(), row.int(), row.int(), row.int())
    let (latest, since, next) = (row.int(), row.int(), row.optionalInt())
    guard let url = try? RequestURL(reading: row.text(), path: "stored") else { return nil }
    let parts = Parts(
      count: Int(count), begun: Int(begun), accepted: Int(accepted), acceptedBytes: bytes, open: [],
      latest: Parts.Latest(index: Int(latest), url: url), since: since)
    return (parts, next)
  }

  private static func readPart(_ row: inout StatementRow) -> Part? {
    let position = row.int()
    let state = row.text()
    let due = row.optionalInt()
    let isBackoff = row.bool()
    let outage = row.optionalInt()
    let spread = row.optionalDouble()
    let generation = row.int()
    let attempt = Entry.Attempt(ordinal: row.int(), requestID: row.text(), headerRevision: row.int())
    var failures = FailureCounts()
    failures.streak = row.int()
    failures.cutAnswers = row.int()
    failures.followedReuse = row.bool()
    guard let rules = StoredLists.rules(row.optionalBytes()) else { return nil }
    failures.rules = rules
    var part = Part(
      index: Int(position), state: .inFlight, attempt: attempt, generation: generation, failures: failures)
    if state == "waiting" {
      guard let due else { return nil }
      part.state = .waiting(
        Entry.Wait(due: due, isBackoff: isBackoff, outage: outage, spread: spread ?? 0))
    }
    return part
  }

  private static func bind(_ part: Part, of number: Int64, to parameters: inout Parameters) {
    var wait: Entry.Wait?
    if case .waiting(let waits) = part.state { wait = waits }
    parameters.bind(number)
    parameters.bind(Int64(part.index))
    parameters.bind(wait == nil ? "in-flight" : "waiting")
    parameters.bind(wait?.due)
    parameters.bind(wait?.isBackoff)
    parameters.bind(wait?.outage)
    parameters.bind(wait?.spread)
    parameters.bind(part.generation)
    parameters.bind(part.attempt.ordinal)
    parameters.bind(part.attempt.requestID)
    parameters.bind(part.attempt.headerRevision)
    parameters.bind(part.failures.streak)
    parameters.bind(part.failures.cutAnswers)
    parameters.bind(part.failures.followedReuse)
    let rules = StoredLists.text(of: part.failures.rules)
    if let rules { parameters.bind(text: rules[...]) } else { parameters.bindNull() }
  }

  // MARK: Requests

  func request(of number: Int64, at index: Int) throws(StoreError) -> PartRequest? {
    try text.first({
      $0.bind(number)
      $0.bind(Int64(index))
    }) { PartTable.readRequest(&$0) }
  }

  /// Of all requests, those that cannot be read.
  func unreadableRequests() throws(StoreError) -> (looked: Int64, refused: Int64) {
    try Statement(connection, "SELECT url, headers, range_start, range_end FROM part_text").refusals {
      PartTable.readRequest(&$0)
    }
  }

  func requests(of number: Int64) throws(StoreError) -> [PartRequest] {
    try texts.all({ $0.bind(number) }) { PartTable.readRequest(&$0) }
  }

  /// Replaces the requests of the entry.
  func put(_ requests: [PartRequest], of number: Int64) throws(StoreError) {
    try deleteTexts.run { $0.bind(number) }
    for (index, request) in requests.enumerated() {
      try insertText.run {
        $0.bind(number)
        $0.bind(Int64(index))
        $0.bind(request.url.text)
        if request.headers.fields.isEmpty {
          $0.bindNull()
        } else {
          $0.bind(text: StoredLists.text(of: request.headers)[...])
        }
        $0.bind(request.range.lowerBound)
        $0.bind(request.range.upperBound)
      }
    }
  }

  private static func readRequest(_ row: inout StatementRow) -> PartRequest? {
    let url = try? RequestURL(reading: row.text(), path: "stored")
    let headers = row.optionalBytes().map { StoredLists.headers($0) } ?? HeaderFields()
    let (start, end) = (row.int(), row.int())
    guard let url, let headers, start <= end else { return nil }
    return PartRequest(url: url, headers: headers, range: start..<end)
  }
}
