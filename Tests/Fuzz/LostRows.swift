import JSONText

@testable import QueueModel
@testable import QueueStore

/// Rows that are there and read as absent.
final class LostRows {
  private let reader: Reader
  private var statements: [String: Statement] = [:]

  init(_ reader: Reader) { self.reader = reader }

  /// By the table whose rows they are; the bodies among them lie in rows that are there without them.
  enum Kind: String, CaseIterable {
    case entries = "entry"
    case outcomes = "outcome"
    case patches = "header_patch"
    case parts = "part_text"
    case bindings = "binding"
    case diagnostics = "diagnostic"
    case settings = "setting"
    case outages = "outage"
    case bodies = "entry_text"
  }

  private static let counts =
    "SELECT \(Kind.allCases.map { "(SELECT count(*) FROM \($0.rawValue))" }.joined(separator: ", "))"

  /// - Parameter found: What the questions of `scope` have found in the same snapshot.
  func find(in scope: Questions.Scope, besides found: Questions.Found) throws(StoreError) -> Set<Kind> {
    var read = found.counts
    if scope.subjects.contains(.entries) {
      let tables = reader.tables
      for number in try numbers("SELECT DISTINCT entry FROM part_text") {
        read[.parts, default: 0] += try tables.parts.requests(of: number).count
      }
      for number in try numbers("SELECT DISTINCT successor FROM binding") {
        read[.bindings, default: 0] += try tables.links.bindings.bindings(of: number).count
      }
    }
    if scope.subjects.contains(.settings) { read[.settings] = try settings() }
    let counted = try statement(LostRows.counts).first({ _ in }) { row in
      Kind.allCases.map { _ in Int(row.bits()) }
    }
    var lost: Set<Kind> = found.withoutBody.isEmpty ? [] : [.bodies]
    for (kind, count) in zip(Kind.allCases, counted ?? []) {
      if let read = read[kind], read < count { lost.insert(kind) }
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
