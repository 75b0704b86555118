import JSONText

@testable import QueueModel
@testable import QueueStore

/// Rows that are there and read as absent.
final class LostRows {
  private let reader: Reader
  private var statements: [String: Statement] = [:]

  init(_ reader: Reader) { self.reader = reader }

  private static let tables = [
    ("entries", "entry"), ("outcomes", "outcome"), ("patches", "header_patch"), ("parts", "part_text"),
    ("bindings", "binding"), ("diagnostics", "diagnostic"), ("settings", "setting"), ("outages", "outage"),
  ]

  private static let counts =
    "SELECT \(tables.map { "(SELECT count(*) FROM \($0.1))" }.joined(separator: ", "))"

  /// - Parameter found: What the questions have found in the same snapshot.
  func find(besides found: Questions.Found) throws(StoreError) -> Set<String> {
    var read = [
      "entries": found.entries, "patches": found.patches, "outages": found.outages,
      "outcomes": found.outcomes,
      "diagnostics": found.diagnostics, "settings": try settings(),
    ]
    let tables = reader.tables
    for number in try numbers("SELECT DISTINCT entry FROM part_text") {
      read["parts", default: 0] += try tables.parts.requests(of: number).count
    }
    for number in try numbers("SELECT DISTINCT successor FROM binding") {
      read["bindings", default: 0] += try tables.links.bindings.bindings(of: number).count
    }
    let counted = try statement(LostRows.counts).first({ _ in }) { row in
      LostRows.tables.map { _ in Int(row.bits()) }
    }
    var lost: Set<String> = found.withoutBody.isEmpty ? [] : ["bodies"]
    for ((name, _), count) in zip(LostRows.tables, counted ?? []) where read[name, default: 0] < count {
      lost.insert(name)
    }
    return lost
  }

  private func numbers(_ sql: String) throws(StoreError) -> [Int64] {
    try statement(sql).all { $0.bits() }
  }

  private func statement(_ sql: String) -> Statement {
    if let statement = statements[sql] { return statement }
    let statement = Statement(reader.tables.connection, sql)
    statements[sql] = statement
    return statement
  }

  /// Settings whose value is JSON; the configuration is an object of which every member reads.
  private func settings() throws(StoreError) -> Int {
    let values = try statement("SELECT name, value FROM setting").all {
      (name: $0.text(), value: try? JSON(checking: $0.bytes()))
    }
    return values.filter { name, value in
      guard let value else { return false }
      return name != "configuration" || (try? ConfigurationChange(reading: value)) != nil
    }.count
  }
}
