import JSONText
import QueueModel
import QueueStore

/// `outtray show`: all that the queue knows of one entry, but no secret.
enum Show {
  static let command = Command(
    "show", "tell everything about one entry",
    operands: Operands("ID", 1...1),
    options: [.directory, .json],
    about: """
      Tells where an entry stands, what it sends and where to, what holds it back, and its
      outcomes that nobody has acknowledged. What may be secret is left out: of headers
      there are the names alone, of URLs no query, and of bodies, also of answers, the
      length.
      """,
    examples: ["outtray show --dir ./queue note-7"],
    statuses: [(Status.no, "nobody has that id")],
    run: run)

  private static func run(_ arguments: Arguments, _ around: Surroundings) throws(Failure) -> Int32 {
    let directory = try arguments.directory()
    let queue = try StoredQueue(directory)
    let entry = try queue.entry(arguments.operands[0])
    let live = around.live(in: directory)
    let outcomes = try queue.ask { reader throws(StoreError) in try reader.outcomes(of: entry) }
    let portrait = Portrait(
      entry: entry, row: queue.row(entry).progressed(by: live),
      predecessors: try predecessors(of: entry, queue),
      standing: try Explanation.of(entry.id.text, in: queue, live), outcomes: outcomes)
    if arguments.has("json") {
      try around.output.object(portrait.writeMembers)
    } else {
      for line in portrait.lines(now: queue.now.wall, colour: around.output.paint) {
        try around.output.line(line)
      }
    }
    return Status.success
  }

  private static func predecessors(
    of entry: Entry, _ queue: StoredQueue
  ) throws(Failure) -> [Portrait.Predecessor] {
    try queue.ask { reader throws(StoreError) in
      var found: [Portrait.Predecessor] = []
      for edge in try reader.edges(of: entry.number) {
        let state = try reader.entry(id: edge.predecessor).map { queue.row($0).state }
        found.append(Portrait.Predecessor(id: edge.predecessor, state: state, isMet: edge.isMet))
      }
      return found
    }
  }
}
