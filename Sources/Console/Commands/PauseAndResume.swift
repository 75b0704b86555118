import JSONText
import OuttrayProtocol

/// `outtray pause`: holds back entries.
enum Pause {
  static let command = Command(
    "pause", "hold back the queue, or entries of some keys",
    operands: Operands("[KEY...]", 0...Int.max),
    options: [.directory, .json],
    about: """
      Holds back every entry, or with KEYs those of these keys, and stops what of it is
      being sent. It lasts until outtray resume of the same, over restarts too; waits go on
      meanwhile. Where nobody serves the queue the database alone is changed.
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
    options: [.directory, .json],
    about: """
      Ends the pause of the whole queue, or with KEYs that of these keys. The one leaves the
      other as it is: an entry goes out again when both are ended. Where nobody serves the
      queue nothing is sent, and nothing expires, before outtray serve does.
      """,
    examples: ["outtray resume --dir ./queue photo.upload"],
    run: { arguments, around throws(Failure) in
      try Scope.change(.resume, "resumed", arguments, around)
    })
}

/// The whole queue, or some keys of it.
private enum Scope {
  static func change(
    _ method: Method, _ done: String, _ arguments: Arguments, _ around: Surroundings
  ) throws(Failure) -> Int32 {
    let keys = arguments.operands
    let result = try around.change(try arguments.directory()) { live, _ throws(Failure) in
      try live.call(method) { params in
        guard !keys.isEmpty else { return }
        params.member("keys") { $0.array { for key in keys { $0.value(key) } } }
      }
    }
    if arguments.has("json") {
      try around.output.json(result)
    } else {
      let what = keys.isEmpty ? "the whole queue" : keys.map(Printable.text).joined(separator: ", ")
      try around.output.line("\(done): \(what)")
    }
    return Status.success
  }
}
