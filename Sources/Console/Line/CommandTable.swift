/// All commands: one table from which a line is read, help is written and completion is made.
package struct CommandTable: Sendable {
  package let commands: [Command]

  /// Those of this module, and those that the program adds.
  package init(adding more: [Command]) {
    let own: [Command] = [
      List.command, Show.command, ExplainEntry.command, Add.command, Pause.command, Resume.command,
      Cancel.command, Retry.command, SetHeaders.command, Watch.command, History.command, Verify.command,
      Figures.command,
    ]
    commands = more + own + [Completion.command(of: more + own)]
  }

  /// The command that a line begins with, and the words behind it.
  package func find(_ words: [String]) throws(Failure) -> (command: Command, rest: [String]) {
    guard let first = words.first else { throw .usage("say what to do; see outtray --help") }
    if let command = commands.first(where: { words.starts(with: $0.words) }) {
      return (command, Array(words.dropFirst(command.words.count)))
    }
    let longer = commands.filter { $0.words.first == first }.map(\.name)
    guard longer.isEmpty else { throw .usage("\(first): say \(alternatives(longer))") }
    throw .usage("there is no command \(Printable.text(first)); see outtray --help")
  }

  /// What `outtray --help` prints.
  package var overview: String {
    let width = commands.map(\.name.count).max() ?? 0
    let lines = commands.map { Command.columns($0.name, $0.summary, at: width) }
    return """
      usage: outtray COMMAND [OPTION]...
             outtray --version | --help

      A durable queue of HTTP requests, run beside the programs that use it.

      \(lines.joined(separator: "\n"))

      outtray COMMAND --help says what a command does, shows an example, and names its
      options and exit statuses.
      """
  }
}
