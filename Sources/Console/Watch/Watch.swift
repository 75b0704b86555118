import Glibc

/// `outtray watch`: a live view of a queue.
enum Watch {
  static let command = Command(
    "watch", "watch a queue, live, and steer it by keys",
    options: [.directory, Option("key", "KEY", "only entries of this key"), .json],
    about: """
      Fills the terminal with what the queue holds: entries by state, the speed of all, and
      a row for each entry with its progress and time left, or with the reason why it waits.
      Keys pause, resume, cancel and retry; ? lists them. While nobody serves the queue it
      shows what the database says, and waits for somebody who does. Watching neither keeps
      a process alive nor ends it, and takes no outcomes.

      Where stdout is no terminal it prints a line for each change of state, and each 10
      seconds the sum. With --json each line is {method, params}: state as on the wire,
      summary, served and unserved.
      """,
    examples: ["outtray watch --dir ./queue"],
    run: run)

  private static func run(_ arguments: Arguments, _ around: Surroundings) throws(Failure) -> Int32 {
    let directory = try arguments.directory()
    let key = arguments.value("key")
    guard around.output.width != nil, !arguments.has("json"), Output.variable("TERM") ?? "dumb" != "dumb"
    else {
      return try WatchLines(directory, key: key, asJSON: arguments.has("json"), around).run()
    }
    return try WatchScreen(directory, key: key, around).run()
  }
}
