import JSONText
import OuttrayProtocol

/// `outtray pause`: holds back entries.
enum Pause {
  static let command = Command(
    "pause", "hold back the queue, or entries of some keys or groups",
    operands: Operands("[KEY...]", 0...Int.max),
    options: [.directory, Scope.group, .json],
    about: """
      Holds back every entry, or with KEYs and groups those of these alone, and stops what of
      it is being sent. It lasts until outtray resume of the same, over restarts too; waits
      go on meanwhile. Where nobody serves the queue the database alone is changed.
      """,
    examples: ["outtray pause --dir ./queue photo.upload"],
    run: { arguments, around throws(Failure) in
      try Scope.change(.pause, "paused", arguments, around)
    })
}

/// `outtray resume`: ends a pause.
enum Resume {
  static let command = Command(
    "resume", "end a pause",
    operands: Operands("[KEY...]", 0...Int.max),
    options: [.directory, Scope.group, .json],
    about: """
      Ends the pause of the whole queue, or with KEYs and groups that of these. Each leaves
      the others as they are: an entry goes out again when all of its own are ended. Where
      nobody serves the queue nothing is sent, and nothing expires, before outtray serve does.
      """,
    examples: ["outtray resume --dir ./queue photo.upload"],
    run: { arguments, around throws(Failure) in
      try Scope.change(.resume, "resumed", arguments, around)
    })
}

/// The whole queue, or some keys and groups of it.
private enum Scope {
  static let group = Option("group", "GROUP", "members of this group; may be repeated", isRepeatable: true)

  static func change(
    _ method: Method, _ done: String, _ arguments: Arguments, _ around: Surroundings
  ) throws(Failure) -> Int32 {
    let (keys, groups) = (arguments.operands, arguments.values(group.name))
    let result = try around.change(try arguments.directory()) { live, _, _ throws(Failure) in
      try live.call(method) { params in
        if !keys.isEmpty { params.member("keys", keys) }
        if !groups.isEmpty { params.member("groups", groups) }
      }
    }
    if arguments.has("json") {
      try around.output.json(result)
    } else {
      let names = keys.map(Printable.text) + groups.map { "group \(Printable.text($0))" }
      try around.output.line("\(done): \(names.isEmpty ? "the whole queue" : names.joined(separator: ", "))")
    }
    return Status.success
  }
}
