import JSONText

/// Evidence as lines: a table for people, or JSON for programs.
enum EvidenceTable {
  private enum Column {
    case left(String, Int)
    case right(String, Int)

    func cell(_ text: String) -> String {
      switch self {
      case .left(_, let width): text + blanks(width - text.count)
      case .right(_, let width): blanks(width - text.count) + text
      }
    }

    var heading: String {
      switch self {
      case .left(let name, _), .right(let name, _): cell(name)
      }
    }

    private func blanks(_ count: Int) -> String { String(repeating: " ", count: max(0, count)) }
  }

  private static let columns: [Column] = [
    .left("stage", 14), .right("bytes", 9), .right("attempts", 8), .left("HTTP status", 12),
    .left("transport error", 15), .left("SHA-256 equal", 13), .right("time", 8), .left("verdict", 7),
  ]

  static var heading: String { line(columns.map(\.heading)) }

  static func row(_ evidence: Evidence) -> String {
    let cells = [
      evidence.stage,
      evidence.bytes.map(String.init) ?? "-",
      evidence.attempts.map(String.init) ?? "-",
      list(evidence.statuses.map(String.init)),
      list(evidence.transportErrors.map(\.kind)),
      evidence.isSHA256Equal.map { $0 ? "yes" : "NO" } ?? "-",
      evidence.verdict == .notRun ? "-" : "\(evidence.milliseconds) ms",
      word(evidence.verdict),
    ]
    return line(zip(columns, cells).map { $0.cell($1) })
  }

  private static func word(_ verdict: Evidence.Verdict) -> String {
    switch verdict {
    case .ok: "ok"
    case .failed: "FAILED"
    case .notRun: "not run against a given server"
    }
  }

  private static func list(_ words: [String]) -> String {
    words.isEmpty ? "-" : words.joined(separator: " ")
  }

  private static func line(_ cells: [String]) -> String {
    var line = cells.joined(separator: "  ")
    while line.last == " " { line.removeLast() }
    return line
  }

  /// The same, with what a table has no room for.
  static func json(_ evidence: Evidence) -> String {
    JSON { writer in
      writer.object { writer in
        writer.member("stage", evidence.stage)
        switch evidence.verdict {
        case .ok: writer.member("verdict", "ok")
        case .failed(let reason):
          writer.member("verdict", "failed")
          writer.member("reason", reason)
        case .notRun:
          writer.member("verdict", "notRun")
          return
        }
        writer.member("size", evidence.size)
        if let bytes = evidence.bytes { writer.member("bytes", bytes) }
        if let attempts = evidence.attempts { writer.member("attempts", attempts) }
        writer.member("httpStatuses") { list in
          list.array { for status in evidence.statuses { $0.value(status) } }
        }
        writer.member("transportErrors") { list in
          list.array { array in
            for error in evidence.transportErrors {
              array.object {
                $0.member("kind", error.kind)
                $0.member("message", error.message)
              }
            }
          }
        }
        writer.member("sha256", evidence.sha256)
        if let arrived = evidence.sha256Arrived { writer.member("sha256Arrived", arrived) }
        if let isEqual = evidence.isSHA256Equal { writer.member("sha256Equal", isEqual) }
        writer.member("ms", evidence.milliseconds)
      }
    }.description
  }
}
