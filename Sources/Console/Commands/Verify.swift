import JSONText
import QueueStore

/// `outtray verify`: reads everything and says what is wrong.
enum Verify {
  static let command = Command(
    "verify", "check the database and the bodies of a queue",
    options: [.directory, .json],
    about: """
      Reads all of the database and looks at every body file: whether its pages are sound and
      its rows can be read, whether what entries come after, their lanes and their groups are
      there, whether the counts agree with the rows, and whether each body is there with its
      length. Files that no row names are listed; they are copies that are being made, or
      leftovers. Nothing is changed, and the queue may be served meanwhile.
      """,
    examples: ["outtray verify --dir ./queue"],
    statuses: [(Status.no, "something is wrong")],
    run: run)

  private static func run(_ arguments: Arguments, _ around: Surroundings) throws(Failure) -> Int32 {
    let verification = try read(arguments.directory())
    for check in verification.checks {
      if arguments.has("json") {
        try around.output.object {
          $0.member("check", check.name)
          $0.member("ok", check.problems.isEmpty)
          $0.member("looked", check.looked)
          $0.member("problems", check.problems)
        }
      } else {
        let isWell = check.problems.isEmpty
        let word = around.output.paint(isWell ? "ok  " : "FAIL", isWell ? .green : .red)
        try around.output.line("\(word)  \(check.name)\(check.looked > 0 ? ", \(check.looked)" : "")")
        for problem in check.problems { try around.output.line("      \(Printable.text(problem))") }
      }
    }
    for file in verification.unnamed {
      if arguments.has("json") {
        try around.output.object {
          $0.member("unnamed", file.path)
          $0.member("bytes", file.bytes)
        }
      } else {
        try around.output.line("      no row names \(Printable.text(file.path)), \(Amount.bytes(file.bytes))")
      }
    }
    return verification.holds ? Status.success : Status.no
  }

  /// Damage that keeps the database from being opened, or read to its end, is what was looked for.
  private static func read(_ directory: String) throws(Failure) -> Verification {
    do throws(StoreError) {
      return try Reader(reading: directory).verify()
    } catch {
      guard error.isCorruption else { throw Failure(error) }
      var verification = Verification()
      verification.checks = [Verification.Check(name: "pages", looked: 0, problems: [error.message])]
      return verification
    }
  }
}
