import JSONText
import OuttrayProtocol
import QueueModel

/// `outtray explain`: everything that holds an entry back, or the members of a group.
enum ExplainEntry {
  static let command = Command(
    "explain", "say why an entry is not sent, and when it will be",
    operands: Operands("[ID]", 0...1),
    options: [.directory, Option("group", "GROUP", "explain this group, in place of an entry"), .json],
    about: """
      Says in sentences what holds an entry back now, each with what lets it go, and when
      where that is known; of a group how many members are in which state, and the same for
      each that has not settled, at most 100. A process that serves the queue is asked, since
      only that knows which transmissions are taken and what the network is; when nobody
      serves it, the database tells the rest. With --json it is the result of explain, with
      served: false where the database told it.
      """,
    examples: ["outtray explain --dir ./queue note-7", "outtray explain --group holiday"],
    statuses: [(Status.no, "nobody has that id, or no entry that group")],
    run: run)

  private static func run(_ arguments: Arguments, _ around: Surroundings) throws(Failure) -> Int32 {
    let directory = try arguments.directory()
    if let group = arguments.value("group") {
      guard arguments.operands.isEmpty else { throw .usage("--group: not together with an ID") }
      return try explain(EntryGroup(group), in: directory, arguments, around)
    }
    guard let id = arguments.operands.first else { throw .usage("needs an ID or --group") }
    let queue = try StoredQueue(directory)
    let standing = try Explanation.of(id, in: queue, around.live(in: directory))
    if arguments.has("json") {
      try around.output.object { standing.writeMembers(of: id, into: &$0) }
    } else {
      try around.output.line(standing.sentences(of: Printable.text(id), now: queue.now.wall))
    }
    return Status.success
  }

  private static func explain(
    _ group: EntryGroup, in directory: String, _ arguments: Arguments, _ around: Surroundings
  ) throws(Failure) -> Int32 {
    let queue = try StoredQueue(directory)
    let standing = try GroupStanding(of: group, in: queue, around.live(in: directory))
    if arguments.has("json") {
      try around.output.json(standing.told)
    } else {
      for line in standing.lines(now: queue.now.wall) { try around.output.line(line) }
    }
    return Status.success
  }
}
