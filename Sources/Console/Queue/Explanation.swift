import JSONText
import QueueModel

/// Where an entry stands and what holds it back: told by the live engine, else by the database.
struct Explanation {
  var state: String
  var gates: [Gate]
  var isServed: Bool

  struct Gate: Equatable {
    var name: String
    var detail: String
    /// Wall clock, ms.
    var until: Int64?
  }

  static func of(_ id: String, in queue: StoredQueue, _ live: LiveQueue?) throws(Failure) -> Explanation {
    if let told = try live?.explain("id", id, orThrow: StoredQueue.nobody(id)) {
      return Explanation(telling: told, isServed: true)
    }
    return try Explanation(of: queue.entry(id), in: queue)
  }

  /// What the database tells.
  init(of entry: Entry, in queue: StoredQueue) throws(Failure) {
    state = queue.row(entry).state.rawValue
    gates = try queue.closedGates(for: entry).map {
      Gate(name: $0.gate.rawValue, detail: $0.detail, until: $0.until)
    }
    isServed = false
  }

  /// One entry in a result of `explain`.
  init(telling result: JSON, isServed: Bool) {
    self.isServed = isServed
    state = result["state"]?.string ?? ""
    gates = (result["gates"] ?? .null).elements().map { gate in
      Gate(
        name: gate["gate"]?.string ?? "", detail: gate["detail"]?.string ?? "",
        until: gate["until"]?.integer)
    }
  }

  func writeMembers(of id: String, into writer: inout JSONWriter) {
    write(of: id, into: &writer)
    if !isServed { writer.member("served", false) }
  }

  /// Its members in a result of `explain`.
  func write(of id: String, into writer: inout JSONWriter) {
    writer.member("id", id)
    writer.member("state", state)
    writeGates(into: &writer)
  }

  func writeGates(into writer: inout JSONWriter) {
    writer.member("gates") { list in
      list.array { list in
        for gate in gates {
          list.object {
            $0.member("gate", gate.name)
            $0.member("detail", gate.detail)
            if let until = gate.until { $0.member("until", until) }
          }
        }
      }
    }
  }

  // MARK: For people

  /// - Parameters:
  ///   - id: Made harmless.
  ///   - now: Wall clock, ms.
  func sentences(of id: String, now: Int64) -> String {
    var lines = ["\(id) is \(state)."]
    lines += gates.map { "- \($0.sentence(now: now))" }
    switch Row.State(rawValue: state) {
    case .completed, .error, .cancelled: lines.append("Nothing holds it back: it has settled.")
    case .running where isServed: lines.append("Nothing holds it back: it is being sent.")
    case .running, .queued, .paused, .awaitingAuth, nil:
      if !isServed {
        lines.append("- Nobody serves the queue: nothing is sent until outtray serve does.")
      } else if gates.isEmpty {
        lines.append("Nothing holds it back: it goes out next.")
      }
    }
    return lines.joined(separator: "\n")
  }
}

extension Explanation.Gate {
  fileprivate func sentence(now: Int64) -> String {
    let said = Printable.text(detail)
    // A sentence may begin with a URL.
    let first = said.hasPrefix("http") ? said : said.prefix(1).uppercased() + said.dropFirst()
    if let until {
      return "\(first), until \(Amount.time(until)) (in \(Amount.duration(ms: until - now)))."
    }
    return opening.map { "\(first); \($0)." } ?? "\(first)."
  }

  /// What opens it; nil for a gate of a later version.
  private var opening: String? {
    switch ClosedGate.Name(rawValue: name) {
    case .queue: "outtray resume lets it go"
    case .key: "outtray resume with the key lets it go"
    case .group: "outtray resume --group lets it go"
    case .dependency: "it goes when they have completed"
    case .lane: "it goes when that one has settled"
    case .network: "it goes when the network changes"
    case .credentials: "outtray headers set gives new ones"
    case .backoff: nil
    case .outage: "the rest go when that attempt gets through"
    case .slots, .origin: "it goes when one of them ends"
    case .store: "it goes once the database can be written"
    case nil: nil
    }
  }
}
