import JSONText
import OuttrayProtocol
import QueueModel
import QueueStore

/// `outtray stats`: counters and gauges.
enum Figures {
  static let command = Command(
    "stats", "count what the queue holds and what its process has done",
    options: [
      .directory, .json,
      Option("openmetrics", nil, "print a page of OpenMetrics, for a node exporter's textfile collector"),
    ],
    about: """
      Prints the numbers of the method stats. Entries and outcomes are counted in the
      database; attempts, bytes, commits, the network and origins are known to the process
      that serves the queue alone, and are left out while nobody does. A collector may read at
      any time, so let a page be complete before it takes its name, as in the second example.
      """,
    examples: [
      "outtray stats --dir ./queue --json",
      "outtray stats --dir ./queue --openmetrics > page.$$ && mv page.$$ outtray.prom",
    ],
    run: run)

  private static func run(_ arguments: Arguments, _ around: Surroundings) throws(Failure) -> Int32 {
    let figures = try read(arguments.directory(), around)
    if arguments.has("openmetrics") {
      guard !arguments.has("json") else { throw .usage("--openmetrics: leaves no room for --json") }
      try around.output.text(OpenMetrics.text(of: figures))
    } else if arguments.has("json") {
      try around.output.json(figures)
    } else {
      let pairs = flat(figures, under: "")
      let width = pairs.map(\.0.count).max() ?? 0
      for (name, value) in pairs {
        try around.output.line(name + String(repeating: " ", count: width - name.count) + "  " + value)
      }
    }
    return Status.success
  }

  /// The result of `stats`; what of it the database knows, with `served: false`, when nobody serves the
  /// queue.
  static func read(_ directory: String, _ around: Surroundings) throws(Failure) -> JSON {
    let queue = try StoredQueue(directory)
    if let live = around.live(in: directory), let told = try? live.call(.stats, patience: LiveQueue.patience)
    {
      return told
    }
    let gates = queue.gates
    let (entries, unacknowledged) = try queue.ask { reader throws(StoreError) in
      let apart = try reader.misplaced(of: gates.pausedGroups)
      return (gates.countByState(try reader.counts(), apart: apart), try reader.unacknowledged())
    }
    return JSON { figures in
      figures.object {
        $0.member("entries") { list in
          list.object { for state in Row.State.allCases { $0.member(state.countName, entries[state] ?? 0) } }
        }
        $0.member("outcomes") { $0.object { $0.member("unacknowledged", unacknowledged) } }
        $0.member("served", false)
      }
    }
  }

  /// `entries.queued` and its number, for every one.
  private static func flat(_ json: JSON, under path: String) -> [(String, String)] {
    json.members().flatMap { name, value in
      let path = path.isEmpty ? name : "\(path).\(name)"
      if value.kind == .object { return flat(value, under: path) }
      if value.kind == .array {
        return value.elements().enumerated().flatMap { flat($1, under: "\(path)[\($0)]") }
      }
      return [(path, Printable.text(value.string ?? value.description))]
    }
  }
}
