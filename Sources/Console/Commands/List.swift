import QueueModel
import QueueStore

/// `outtray ls`: the entries of a queue.
enum List {
  static let command = Command(
    "ls", "list the entries of a queue",
    options: [
      .directory,
      Option(
        "state", "STATE", "only entries in this state: \(alternatives(states))", choices: states),
      Option("key", "KEY", "only entries of this key"),
      Option("group", "GROUP", "only members of this group"),
      Option("limit", "N", "at most so many"),
      .json,
    ],
    about: """
      Prints a line for each entry, oldest first: its state, id and key, the bytes of its
      body that were sent and that there are, how many attempts there were, and when the
      next one is, or why there is none. It reads the database and changes nothing, whether
      or not somebody serves the queue. With --json each line is a row of getRequests.
      """,
    examples: ["outtray ls --dir ./queue --state error"],
    run: run)

  private static let states = Row.State.allCases.map(\.rawValue)
  /// The columns of all are laid out for the first of these.
  private static let batch = 1000

  private static func run(_ arguments: Arguments, _ around: Surroundings) throws(Failure) -> Int32 {
    let directory = try arguments.directory()
    let limit = try arguments.integer("limit", in: 1...Int.max) ?? Int.max
    let queue = try StoredQueue(directory)
    let live = around.live(in: directory)
    var walk = Walk(queue, arguments, limit)
    if arguments.has("json") {
      while let (row, _) = try walk.next() {
        try around.output.object { row.progressed(by: live).writeMembers(into: &$0) }
      }
      return Status.success
    }
    var table: Table?
    while true {
      var rows: [[Table.Cell]] = []
      while rows.count < batch, let (row, entry) = try walk.next() {
        rows.append(try cells(row.progressed(by: live), entry, queue, isServed: live != nil))
      }
      if table == nil {
        let made = Table(columns, for: rows, width: around.output.width, isColoured: around.output.isColoured)
        try around.output.line(made.head)
        table = made
      }
      for row in rows { try around.output.line(table?.line(row) ?? "") }
      if rows.count < batch { return Status.success }
    }
  }

  private static let columns = [
    Table.Column("STATE"), Table.Column("ID", isFlexible: true), Table.Column("KEY", isFlexible: true),
    Table.Column("SENT", isNumber: true), Table.Column("BYTES", isNumber: true),
    Table.Column("ATTEMPTS", isNumber: true), Table.Column("NEXT ATTEMPT, OR WHY NOT", isFlexible: true),
  ]

  private static func cells(
    _ row: Row, _ entry: Entry, _ queue: StoredQueue, isServed: Bool
  ) throws(Failure) -> [Table.Cell] {
    [
      Table.Cell(row.state.rawValue, row.state.colour), Table.Cell(Printable.text(row.id.text)),
      Table.Cell(Printable.text(row.key.text)), Table.Cell(Amount.bytes(row.bytesSent)),
      Table.Cell(Amount.bytes(row.totalBytes)), Table.Cell("\(row.attempts)"),
      Table.Cell(try queue.reason(row, entry, isServed: isServed)),
    ]
  }

  /// Entries by number, a few at a time, so that memory does not grow with the queue.
  private struct Walk {
    private let queue: StoredQueue
    private let key: EntryKey?
    private let group: EntryGroup?
    private let state: String?
    private var left: Int
    private var after: Int64 = 0
    private var page: ArraySlice<Entry> = []
    private var isAtEnd = false

    private static let size = 256

    init(_ queue: StoredQueue, _ arguments: Arguments, _ limit: Int) {
      self.queue = queue
      key = arguments.value("key").map { EntryKey($0) }
      group = arguments.value("group").map { EntryGroup($0) }
      state = arguments.value("state")
      left = limit
    }

    mutating func next() throws(Failure) -> (Row, Entry)? {
      while left > 0 {
        guard let entry = page.popFirst() else {
          if isAtEnd { return nil }
          let (after, key, group) = (after, key, group)
          let read = try queue.ask { reader throws(StoreError) in
            try reader.entries(after: after, limit: Walk.size, key: key, group: group)
          }
          page = read.map(\.entry)[...]
          self.after = page.last?.number ?? after
          isAtEnd = page.count < Walk.size
          continue
        }
        let row = queue.row(entry)
        guard state == nil || state == row.state.rawValue else { continue }
        // The store looks up one of key and group.
        guard key == nil || key == row.key else { continue }
        left -= 1
        return (row, entry)
      }
      return nil
    }
  }
}
