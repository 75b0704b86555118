/// `outtray completion`: scripts by which shells complete the command line.
enum Completion {
  static func command(of commands: [Command]) -> Command {
    Command(
      "completion", "print a script by which a shell completes outtray",
      operands: Operands("bash|zsh|fish", 1...1, choices: ["bash", "zsh", "fish"]),
      options: [],
      about: """
        Prints a script that completes commands, options and their values. For bash put
        source <(outtray completion bash) into ~/.bashrc; for zsh, which needs compinit, the
        same with zsh into ~/.zshrc; for fish, outtray completion fish | source into
        config.fish.
        """,
      examples: ["source <(outtray completion bash)"],
      run: { arguments, around throws(Failure) in
        let all = commands + [command(of: commands)]
        switch arguments.operands[0] {
        case "bash": try around.output.line(BashCompletion.script(all))
        case "zsh": try around.output.line(ZshCompletion.script(all))
        default: try around.output.line(FishCompletion.script(all))
        }
        return Status.success
      })
  }

  /// In single quotes, as all three shells take it.
  static func quoted(_ text: String) -> String {
    "'" + text.split(separator: "'", omittingEmptySubsequences: false).joined(separator: "'\\''") + "'"
  }

  /// The words that may stand first, each with what its first command does.
  static func firstWords(_ commands: [Command]) -> [(word: String, summary: String)] {
    var seen: Set<String> = []
    return commands.filter { seen.insert($0.words[0]).inserted }.map { ($0.words[0], $0.summary) }
  }

  /// What may follow those of two words.
  static func secondWords(_ commands: [Command]) -> [(first: String, second: String)] {
    commands.filter { $0.words.count > 1 }.map { ($0.words[0], $0.words[1]) }
  }
}

extension Command {
  /// It among the first two words of a line, as `case` of bash and zsh takes it.
  var pattern: String { words.count > 1 ? "'\(name)'" : "'\(name) '*" }
}

extension Option {
  /// As it is typed, long and short.
  var spellings: [String] { ["--\(name)"] + (letter.map { ["-\($0)"] } ?? []) }
}
