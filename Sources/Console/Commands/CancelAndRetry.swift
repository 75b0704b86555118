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
    try Each.change(.cancel, arguments, around) { before in
      switch before {
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
    statuses: [(Status.no, "it cannot be done for one of the ids; the others are done")],
    run: run)

  private static func run(_ arguments: Arguments, _ around: Surroundings) throws(Failure) -> Int32 {
    try Each.change(.retry, arguments, around) { before in
      switch before {
      case .queued, .awaitingAuth: "due now"
      case .paused: "due when its pause ends"
      case .running: "is being sent already"
      case .completed, .error, .cancelled: "opened again"
      }
    }
  }
}

/// A method that takes one id, for several of them.
private enum Each {
  static func change(
    _ method: Method, _ arguments: Arguments, _ around: Surroundings, _ done: (Row.State) -> String
  ) throws(Failure) -> Int32 {
    let directory = try arguments.directory()
    var refusals: [String] = []
    for id in arguments.operands {
      let name = Printable.text(id)
      // The wire resolves a cancel of an id that nobody has; people want to know.
      let queue = try StoredQueue(directory)
      let entry = try queue.ask { reader throws(StoreError) in try reader.entry(id: EntryID(id)) }
      guard let entry else {
        refusals.append("\(name): names no entry")
        continue
      }
      do throws(Failure) {
        let result = try around.change(directory) { live, _ throws(Failure) in
          try live.call(method) { $0.member("id", id) }
        }
        if arguments.has("json") {
          try around.output.json(result)
        } else {
          try around.output.line("\(done(queue.row(entry).state)): \(name)")
        }
      } catch {
        guard error.code == ErrorCode.invalid.rawValue, error.message.hasPrefix("id: ") else { throw error }
        refusals.append("\(name): \(error.message.dropFirst(4))")
      }
    }
    guard refusals.isEmpty else { throw Failure(Status.no, refusals.joined(separator: "; ")) }
    return Status.success
  }
}
