import JSONText
import OuttrayProtocol
import QueueModel
import QueueStore

/// `outtray cancel`: takes entries, or groups of them, out of the queue.
enum Cancel {
  static let command = Command(
    "cancel", "cancel entries, or forget settled ones",
    operands: Operands("[ID...]", 0...Int.max),
    options: [
      .directory, Option("group", "GROUP", "every member of this group; may be repeated", isRepeatable: true),
      .json,
    ],
    about: """
      An entry that waits or is being sent settles as cancelled, and its outcome is kept for
      the host. One that has settled is forgotten, with its body and with the outcome that
      nobody has acknowledged. Of a group it settles the members that are live; a group of
      which every member has settled is forgotten as a whole.
      """,
    examples: ["outtray cancel --dir ./queue note-7 note-8", "outtray cancel --group holiday"],
    statuses: [(Status.no, "nobody has one of the ids or groups; the others are done")],
    run: run)

  private static func run(_ arguments: Arguments, _ around: Surroundings) throws(Failure) -> Int32 {
    let groups = arguments.values("group")
    guard !(arguments.operands.isEmpty && groups.isEmpty) else {
      throw .usage("needs an ID or --group; see outtray cancel --help")
    }
    var refusals = try Each.change(.cancel, arguments, around) { before in
      switch before {
      case .queued, .running, .awaitingAuth, .paused: "cancelled"
      case .completed, .error, .cancelled: "forgotten"
      }
    }
    let directory = try arguments.directory()
    for name in groups {
      guard let done = try cancel(EntryGroup(name), in: directory, around) else {
        refusals.append("\(Printable.text(name)): names no group")
        continue
      }
      if arguments.has("json") {
        try around.output.object { _ in }
      } else {
        try around.output.line("\(done): group \(Printable.text(name))")
      }
    }
    return try Each.conclude(refusals)
  }

  /// What was done; nil for a group that nobody is in.
  private static func cancel(
    _ group: EntryGroup, in directory: String, _ around: Surroundings
  ) throws(Failure) -> String? {
    func liveMembers() throws(Failure) -> Int64? {
      try StoredQueue(directory).ask { reader throws(StoreError) in
        try reader.group(named: group)?.group.live
      }
    }
    guard let before = try liveMembers() else { return nil }
    try around.change(directory) { live, _, isRepeated throws(Failure) in
      // A second time would forget what the first one has settled.
      if isRepeated, before > 0, try liveMembers() ?? 0 == 0 { return }
      try live.call(.cancel) { $0.member("group", group.text) }
    }
    return before > 0 ? "cancelled" : "forgotten"
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
    let refusals = try Each.change(.retry, arguments, around) { before in
      switch before {
      case .queued, .awaitingAuth: "due now"
      case .paused: "due when its pause ends"
      case .running: "is being sent already"
      case .completed, .error, .cancelled: "opened again"
      }
    }
    return try Each.conclude(refusals)
  }
}

/// A method that takes one id, for several of them.
private enum Each {
  /// What was refused, for people; the rest is done and told.
  static func change(
    _ method: Method, _ arguments: Arguments, _ around: Surroundings, _ done: (Row.State) -> String
  ) throws(Failure) -> [String] {
    let directory = try arguments.directory()
    var refusals: [String] = []
    for id in arguments.operands {
      let name = Printable.text(id)
      // The wire resolves a cancel of an id that nobody has; people want to know.
      func find() throws(Failure) -> (queue: StoredQueue, entry: Entry?) {
        let queue = try StoredQueue(directory)
        return (queue, try queue.ask { reader throws(StoreError) in try reader.entry(id: EntryID(id)) })
      }
      let (queue, found) = try find()
      guard let entry = found else {
        refusals.append("\(name): names no entry")
        continue
      }
      do throws(Failure) {
        let result = try around.change(directory) { live, _, isRepeated throws(Failure) in
          // A second cancel would forget what the first one has settled.
          if isRepeated, method == .cancel, entry.isLive, try find().entry?.isLive != true {
            return JSON.emptyObject
          }
          return try live.call(method) { $0.member("id", id) }
        }
        if arguments.has("json") {
          try around.output.json(result)
        } else {
          try around.output.line("\(done(queue.row(entry).state)): \(name)")
        }
      } catch {
        guard error.code == .invalid, error.message.hasPrefix("id: ") else { throw error }
        refusals.append("\(name): \(error.message.dropFirst(4))")
      }
    }
    return refusals
  }

  static func conclude(_ refusals: [String]) throws(Failure) -> Int32 {
    guard refusals.isEmpty else { throw Failure(Status.no, refusals.joined(separator: "; ")) }
    return Status.success
  }
}
