package import JSONText

/// The result of `stats` as OpenMetrics 1.0 has it, which Prometheus reads, and so does the textfile
/// collector of its node exporter: gauges and counters alone, since that knows no other types. The collector
/// may read at any time, so a page goes to a file beside the one it reads and is moved over that whole, as in
/// `outtray stats --openmetrics > page.$$ && mv page.$$ outtray.prom`.
package enum OpenMetrics {
  /// Lines, each with its end; the last is `# EOF`. Members that `stats` lacks are left out.
  ///
  /// - Parameter labels: Stand on every sample, such as which queue it is. Names as OpenMetrics allows them.
  package static func text(of stats: JSON, labels: [(name: String, value: String)] = []) -> String {
    var page = Page(labels: labels)
    page.family("entries", .gauge, "Entries by state.") {
      for state in ["queued", "running", "awaitingAuth", "paused", "completed", "error", "cancelled"] {
        $0.sample(
          number(stats, "entries", state), ("state", state == "awaitingAuth" ? "awaiting-auth" : state))
      }
    }
    page.family("served", .gauge, "1 while a process serves the queue.") {
      // What only a process counts is there while one serves.
      $0.sample(stats["served"]?.bool == false ? 0 : stats["attempts"].map { _ in 1 })
    }
    page.family("outcomes_unacknowledged", .gauge, "Outcomes that no host has acknowledged.") {
      $0.sample(number(stats, "outcomes", "unacknowledged"))
    }
    page.family("attempts_started", .counter, "Attempts sent or being sent since the process started.") {
      $0.sample(number(stats, "attempts", "started"))
    }
    page.family("attempts_ended", .counter, "Attempts ended since then; stopped ones are left out.") {
      for outcome in ["completed", "failed"] {
        $0.sample(number(stats, "attempts", outcome), ("outcome", outcome))
      }
    }
    page.family("sent_bytes", .counter, unit: "bytes", "Body bytes sent, failed attempts included.") {
      $0.sample(number(stats, "bytes", "sent"))
    }
    page.family("received_bytes", .counter, unit: "bytes", "Answer body bytes received, before decoding.") {
      $0.sample(number(stats, "bytes", "received"))
    }
    page.family("commits", .counter, "Transactions that changed the store.") {
      $0.sample(number(stats, "commits"))
    }
    page.family("network", .gauge, "1 for what the machine is connected by.") {
      guard let type = stats["network"]?["type"]?.string else { return }
      for known in ["wifi", "ethernet", "cellular", "none"] {
        $0.sample(known == type ? 1 : 0, ("type", known))
      }
    }
    page.family("network_metered", .gauge, "1 while traffic is paid for.") {
      $0.sample(stats["network"]?["metered"]?.bool.map { $0 ? 1 : 0 })
    }
    let origins = (stats["origins"] ?? .null).elements()
    page.family("origin_limit", .gauge, "Attempts at once that an origin may have.") {
      for load in origins { $0.sample(load["limit"]?.integer, ("origin", load["origin"]?.string ?? "")) }
    }
    page.family("origin_failing", .gauge, "1 while an origin is left alone, or tried by one at a time.") {
      for load in origins {
        $0.sample(load["circuit"]?.string == "closed" ? 0 : 1, ("origin", load["origin"]?.string ?? ""))
      }
    }
    return page.text + "# EOF\n"
  }

  private static func number(_ stats: JSON, _ path: String...) -> Int64? {
    var json: JSON? = stats
    for name in path { json = json?[name] }
    return json?.integer
  }

  private enum Kind: String {
    case gauge, counter
  }

  private struct Page {
    private(set) var text = ""
    private let labels: String
    private var name = ""
    private var suffix = ""
    private var samples = ""

    init(labels: [(name: String, value: String)]) {
      self.labels = labels.map { "\($0.name)=\"\(OpenMetrics.escaped($0.value))\"" }.joined(separator: ",")
    }

    /// Nothing of a family without samples.
    mutating func family(
      _ name: String, _ kind: Kind, unit: String? = nil, _ help: String, _ fill: (inout Page) -> Void
    ) {
      self.name = "outtray_\(name)"
      suffix = kind == .counter ? "_total" : ""
      samples = ""
      fill(&self)
      guard !samples.isEmpty else { return }
      text += "# HELP \(self.name) \(help)\n# TYPE \(self.name) \(kind.rawValue)\n"
      if let unit { text += "# UNIT \(self.name) \(unit)\n" }
      text += samples
    }

    mutating func sample(_ value: Int64?, _ label: (name: String, value: String)? = nil) {
      guard let value else { return }
      let own = label.map { "\($0.name)=\"\(OpenMetrics.escaped($0.value))\"" }
      let all = [labels, own ?? ""].filter { !$0.isEmpty }.joined(separator: ",")
      samples += name + suffix + (all.isEmpty ? "" : "{\(all)}") + " \(value)\n"
    }
  }

  /// As the value of a label.
  private static func escaped(_ text: String) -> String {
    var escaped = ""
    for scalar in text.unicodeScalars {
      switch scalar {
      case "\\": escaped += "\\\\"
      case "\"": escaped += "\\\""
      case "\n": escaped += "\\n"
      default: escaped.unicodeScalars.append(scalar)
      }
    }
    return escaped
  }
}
