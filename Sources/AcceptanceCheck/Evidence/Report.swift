import JSONText

/// Tells what the check finds, line by line.
struct Report {
  enum Form {
    case table, json
  }

  let form: Form
  let write: (String) -> Void
  private var failures: [(stage: String, reason: String)] = []
  private var stages = 0
  private var notRun = 0

  init(_ form: Form, _ write: @escaping (String) -> Void) {
    self.form = form
    self.write = write
  }

  var holds: Bool { failures.isEmpty && stages > notRun }

  func begin(version: String, server: String, folder: String) {
    guard form == .table else { return }
    write("outtray \(version), sending to \(server); everything else is in \(folder)")
    write("")
    write(EvidenceTable.heading)
  }

  mutating func add(_ evidence: Evidence) {
    stages += 1
    switch evidence.verdict {
    case .ok: break
    case .failed(let reason): failures.append((evidence.stage, reason))
    case .notRun: notRun += 1
    }
    write(form == .table ? EvidenceTable.row(evidence) : EvidenceTable.json(evidence))
  }

  /// `remarks` say what the evidence does not show.
  func end(version: String, server: String, remarks: [String]) {
    switch form {
    case .json:
      let line = JSON { writer in
        writer.object {
          $0.member("holds", holds)
          $0.member("version", version)
          $0.member("server", server)
          $0.member("stages", stages)
          $0.member("failed", failures.count)
          $0.member("notRun", notRun)
          $0.member("remarks") { list in list.array { for remark in remarks { $0.value(remark) } } }
        }
      }
      write(line.description)
    case .table:
      write("")
      for (stage, reason) in failures { write("\(stage): \(reason)") }
      for remark in remarks { write(remark) }
      write(holds ? "all of it holds" : "\(failures.count) of \(stages - notRun) stages failed")
    }
  }
}
