import JSONText

@testable import QueueModel
@testable import QueueStore

/// Rows that are there and read as absent.
final class LostRows {
  private let reader: Reader
  private var statements: [String: Statement] = [:]

  init(_ reader: Reader) { self.reader = reader }

  private static let counts = [
    ("entries", "SELECT count(*) FROM entry"), ("outcomes", "SELECT count(*) FROM outcome"),
    ("patches", "SELECT count(*) FROM header_patch"), ("parts", "SELECT count(*) FROM part_text"),
    ("bindings", "SELECT count(*) FROM binding"), ("diagnostics", "SELECT count(*) FROM diagnostic"),
    ("settings", "SELECT count(*) FROM setting"),
  ]

  func find() throws(StoreError) -> [String] {
    let tables = reader.tables
    let entries = try reader.entries(after: .min, limit: 100).map(\.entry)
    let patches = try reader.gates().patches
    var read = [
      "entries": entries.count, "patches": patches.count,
      "outcomes": try reader.outcomes(after: .min, keys: nil, limit: 100, maxBytes: .max).count,
      "diagnostics": try tables.diagnostics.all(after: .min).count,
      "settings": try settings(),
    ]
    for number in try numbers("SELECT DISTINCT entry FROM part_text") {
      read["parts", default: 0] += try tables.parts.requests(of: number).count
    }
    for number in try numbers("SELECT DISTINCT successor FROM binding") {
      read["bindings", default: 0] += try tables.links.bindings.bindings(of: number).count
    }
    var lost: [String] = []
    for entry in entries where entry.body.kind == .data && entry.body.place == .row {
      if try reader.storedData(of: entry) == nil { lost.append("data of \(entry.id)") }
    }
    for (name, sql) in LostRows.counts where read[name, default: 0] < Int(try numbers(sql).first ?? 0) {
      lost.append(name)
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
