import JSONText
import OuttrayProtocol
import QueueModel

/// `outtray explain`: everything that holds an entry back.
enum ExplainEntry {
  static let command = Command(
    "explain", "say why an entry is not sent, and when it will be",
    operands: Operands("ID", 1...1),
    options: [.directory, .json],
    about: """
      Says in sentences what holds an entry back now, each with what lets it go, and when
      where that is known. A process that serves the queue is asked, since only that knows
      which transmissions are taken and what the network is; when nobody serves it, the
      database tells the rest. With --json it is the result of explain, with served: false
      where the database told it.
      """,
    examples: ["outtray explain --dir ./queue note-7"],
    statuses: [(Status.no, "nobody has that id")],
    run: run)

  private static func run(_ arguments: Arguments, _ around: Surroundings) throws(Failure) -> Int32 {
    let directory = try arguments.directory()
    let id = arguments.operands[0]
    let queue = try StoredQueue(directory)
    let standing = try Explanation.of(id, in: queue, around.live(in: directory))
    if arguments.has("json") {
      try around.output.object { standing.writeMembers(of: id, into: &$0) }
    } else {
      try around.output.line(standing.sentences(of: Printable.text(id), now: queue.now.wall))
    }
    return Status.success
  }
}
