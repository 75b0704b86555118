import JSONText
import OuttrayProtocol
import QueueModel
import QueueStore

/// `outtray cancel`: takes entries out of the queue.
enum Cancel {
  static let command = Command(
    "cancel", "cancel entries, or forget settled ones",
    operands: Operands("ID...", 1...Int.max),
    options: [.directory, .json],
    about: """
      An entry that waits or is being sent settles as cancelled, and its outcome is kept for
      the host. One that has settled is forgotten, with its body and with the outcome that
      nobody has acknowledged.
      """,
    examples: ["outtray cancel --dir ./queue note-7 note-8"],
    statuses: [(Status.no, "nobody has one of the ids; the others are done")],
    run: run)

  private static func run(_ arguments: Arguments, _ around: Surroundings) throws(Failure) -> Int32 {
    try Each.change("cancel", arguments, around) { state in
      switch state {
      case .queued, .running, .awaitingAuth, .paused: "cancelled"
      case .completed, .error, .cancelled: "forgotten"
      }
    }
  }
}

/// `outtray retry`: sends entries again, or sooner.
enum Retry {
  static let command = Command(
    "retry", "send entries now, or again after an error",
    operands: Operands("ID...", 1...Int.max),
    options: [.directory, .json],
    about: """
      An entry that waits for its next attempt is due now; one that settled with an error is
      opened again and sent with the body that it has. What else holds it back still does:
      outtray explain tells.
      """,
    examples: ["outtray retry --dir ./queue note-7"],
    statuses: [(Status.no, "nobody has one of the ids; the others are done")],
    run: run)

  private static func run(_ arguments: Arguments, _ around: Surroundings) throws(Failure) -> Int32 {
    try Each.change("retry", arguments, around) { state in
      switch state {
      case .queued, .running, .awaitingAuth, .paused: "due now"
      case .completed, .error, .cancelled: "opened again"
      }
    }
  }
}

/// A method that takes one id, for several of them.
private enum Each {
  static func change(
    _ method: String, _ arguments: Arguments, _ around: Surroundings, _ done: (Row.State) -> String
  ) throws(Failure) -> Int32 {
    let directory = try arguments.directory()
    var missing: [String] = []
    for id in arguments.operands {
      // The wire resolves an unknown id; people want to know.
      let queue = try StoredQueue(directory)
      let entry = try queue.ask { reader throws(StoreError) in try reader.entry(id: EntryID(id)) }
      guard let entry else {
        missing.append(Printable.text(id))
        continue
      }
      let result = try around.change(directory) { live, _ throws(Failure) in
        try live.call(method) { $0.member("id", id) }
      }
      if arguments.has("json") {
        try around.output.json(result)
      } else {
        try around.output.line("\(done(queue.row(entry).state)): \(Printable.text(id))")
      }
    }
    guard missing.isEmpty else {
      throw Failure(Status.no, "\(missing.joined(separator: ", ")): names no entry")
    }
    return Status.success
  }
}
