import JSONText
import QueueModel

/// The journal of outcomes: written with the entry's change, deleted when acknowledged.
final class OutcomeTable {
  private static let selection = """
    SELECT o.number, o.deliveries, o.bytes, t.text FROM outcome o JOIN outcome_text t ON t.number = o.number
    """

  private let insertRow: Statement
  private let insertText: Statement
  private let byEvent: Statement
  private let subject: Statement
  private let byNumber: Statement
  private let page: Statement
  private let keyPage: Statement
  private let countUp: Statement
  private let deleteRow: Statement
  private let deleteText: Statement
  private let ofEntry: Statement
  private let highest: Statement
  private let highestEntry: Statement
  private let countAll: Statement

  private(set) var lastNumber: Int64 = 0
  /// Rows of the journal; nil until somebody asks, and after a rollback.
  private var count: Int64?

  init(_ connection: Connection) throws(StoreError) {
    func statement(_ sql: String) -> Statement { Statement(connection, sql) }
    insertRow = statement("INSERT INTO outcome (number, event_id, entry, key, bytes) VALUES (?, ?, ?, ?, ?)")
    insertText = statement("INSERT OR REPLACE INTO outcome_text (number, text) VALUES (?, ?)")
    byEvent = statement("\(OutcomeTable.selection) WHERE o.event_id = ?")
    subject = statement("SELECT number, entry FROM outcome WHERE event_id = ?")
    byNumber = statement("\(OutcomeTable.selection) WHERE o.number = ?")
    page = statement("SELECT number, bytes FROM outcome WHERE number > ? ORDER BY number LIMIT ?")
    keyPage = statement(
      "SELECT number, bytes FROM outcome WHERE key = ? AND number > ? ORDER BY number LIMIT ?")
    countUp = statement("UPDATE outcome SET deliveries = deliveries + 1 WHERE number = ?")
    deleteRow = statement("DELETE FROM outcome WHERE number = ?")
    deleteText = statement("DELETE FROM outcome_text WHERE number = ?")
    ofEntry = statement("SELECT number, event_id FROM outcome WHERE entry = ? ORDER BY number")
    highest = statement("SELECT ifnull(max(number), 0) FROM outcome WHERE number <= \(StatementRow.largest)")
    highestEntry = statement(
      "SELECT ifnull(max(entry), 0) FROM outcome WHERE entry <= \(StatementRow.largest)")
    countAll = statement("SELECT count(*) FROM outcome")
    lastNumber = try highest.first { $0.int() } ?? 0
  }

  func append(_ record: Record) throws(StoreError) -> JournaledOutcome {
    lastNumber += 1
    let number = lastNumber
    let text = record.storedText
    var entry: Int64 = 0
    if case .entry(let outcome) = record { entry = outcome.entry }
    try insertRow.run {
      $0.bind(number)
      $0.bind(record.eventID)
      $0.bind(entry)
      $0.bind(record.key.text)
      $0.bind(Int64(text.count))
    }
    try insertText.run {
      $0.bind(number)
      $0.bind(text: text[...])
    }
    count? += 1
    return JournaledOutcome(number: number, record: record, deliveries: 0, bytes: text.count)
  }

  func journaled(eventID: String) throws(StoreError) -> JournaledOutcome? {
    try byEvent.first({ $0.bind(eventID) }, OutcomeTable.read)
  }

  /// Its number, and the entry that it is of; nil instead of that for a group's. Does not read what it says.
  func subject(ofEvent eventID: String) throws(StoreError) -> (number: Int64, entry: Int64?)? {
    try subject.first({ $0.bind(eventID) }) { row in
      let (number, entry) = (row.int(), row.int())
      return (number, entry == 0 ? nil : entry)
    }
  }

  /// Outcomes with numbers above `after`, by number; at most `limit`, and only the first of them may go
  /// beyond `maxBytes` in all. Those of `known` are not read again.
  func outcomes(
    after: Int64, keys: Set<EntryKey>?, limit: Int, maxBytes: Int, known: [Int64: JournaledOutcome]
  ) throws(StoreError) -> [JournaledOutcome] {
    var outcomes: [JournaledOutcome] = []
    var bytes: Int64 = 0
    var cursor = after
    while outcomes.isEmpty {
      let next = try numbers(after: cursor, keys: keys, limit: limit)
      guard let last = next.last else { break }
      for (number, length) in next {
        bytes += length
        if bytes > maxBytes && !outcomes.isEmpty { break }
        if let outcome = known[number] {
          outcomes.append(outcome)
        } else if let outcome = try byNumber.first({ $0.bind(number) }, OutcomeTable.read) {
          outcomes.append(outcome)
        }
        // A damaged outcome reads as absent.
      }
      cursor = last.number
    }
    return outcomes
  }

  private func numbers(
    after: Int64, keys: Set<EntryKey>?, limit: Int
  ) throws(StoreError) -> [(number: Int64, bytes: Int64)] {
    guard let keys else {
      return try page.all({
        $0.bind(after)
        $0.bind(Int64(limit))
      }) { ($0.int(), $0.int()) }
    }
    var numbers: [(number: Int64, bytes: Int64)] = []
    for key in keys {
      numbers += try keyPage.all({
        $0.bind(key.text)
        $0.bind(after)
        $0.bind(Int64(limit))
      }) { ($0.int(), $0.int()) }
    }
    numbers.sort { $0.number < $1.number }
    return Array(numbers.prefix(limit))
  }

  func countDelivery(_ number: Int64) throws(StoreError) {
    try countUp.run { $0.bind(number) }
  }

  func delete(_ number: Int64) throws(StoreError) {
    try deleteRow.run { $0.bind(number) }
    try deleteText.run { $0.bind(number) }
    count = nil
  }

  /// The event ids of what was deleted, oldest first.
  func deleteAll(ofEntry number: Int64) throws(StoreError) -> [String] {
    let found = try ofEntry.all({ $0.bind(number) }) { ($0.int(), $0.text()) }
    for (outcome, _) in found { try delete(outcome) }
    return found.map(\.1)
  }

  /// Those of one entry, oldest first.
  func outcomes(ofEntry number: Int64) throws(StoreError) -> [JournaledOutcome] {
    let numbers = try ofEntry.all({ $0.bind(number) }) { $0.int() }
    var outcomes: [JournaledOutcome] = []
    for number in numbers {
      if let outcome = try byNumber.first({ $0.bind(number) }, OutcomeTable.read) { outcomes.append(outcome) }
    }
    return outcomes
  }

  func unacknowledged() throws(StoreError) -> Int64 {
    if let count { return count }
    let counted = try countAll.first { $0.int() } ?? 0
    count = counted
    return counted
  }

  /// The highest creation number of an entry that an outcome is left of.
  func highestEntryNumber() throws(StoreError) -> Int64 {
    try highestEntry.first { $0.int() } ?? 0
  }

  /// The transaction was rolled back. Numbers are not given again.
  func forget() { count = nil }

  private static func read(_ row: inout StatementRow) -> JournaledOutcome? {
    let number = row.int()
    let deliveries = row.int()
    let bytes = row.int()
    guard let text = try? JSON(checking: row.bytes()), let record = try? Record(stored: text) else {
      return nil
    }
    return JournaledOutcome(number: number, record: record, deliveries: deliveries, bytes: Int(bytes))
  }
}
