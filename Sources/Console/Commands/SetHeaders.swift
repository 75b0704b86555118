import JSONText
import OuttrayProtocol

/// `outtray headers set`: new credentials for entries that are there.
enum SetHeaders {
  static let command = Command(
    "headers set", "give entries new header values, such as credentials",
    operands: Operands("[NAME[=SOURCE]...]", 0...Int.max),
    options: [
      .directory, Option("key", "KEY", "only entries of this key; may be repeated", isRepeatable: true),
      Option("origin", "ORIGIN", "only requests to this origin, like https://api.example.com"), .json,
    ],
    about: """
      Sets header fields of every entry that is there, and lets those go on that wait since
      the server refused their credentials. A value is never an argument, since every process
      of the machine can read those. Where it comes from, SOURCE says: - is the next line of
      stdin (so is a NAME alone), @FILE a file, env:VAR a variable of the environment. Without
      any NAME, stdin holds lines like "Authorization: Bearer ...".
      """,
    examples: [
      "outtray headers set Authorization=env:TOKEN --origin https://api.example.com",
      "printf 'Authorization: %s\\n' \"$TOKEN\" | outtray headers set --key note.add",
    ],
    run: run)

  private static func run(_ arguments: Arguments, _ around: Surroundings) throws(Failure) -> Int32 {
    let directory = try arguments.directory()
    let headers = try HeaderSources.read(arguments.operands)
    let result = try around.change(directory) { live, _, _ throws(Failure) in
      try live.call(.updateHeaders) { params in
        params.member("headers") { headers.write(into: &$0) }
        if arguments.has("key") { params.member("keys", arguments.values("key")) }
        if let origin = arguments.value("origin") { params.member("origin", origin) }
      }
    }
    if arguments.has("json") {
      try around.output.json(result)
    } else {
      try around.output.line("set: \(headers.map(\.name).joined(separator: ", "))")
    }
    return Status.success
  }
}
