/// The script for fish.
enum FishCompletion {
  static func script(_ commands: [Command]) -> String {
    let first = Completion.firstWords(commands).map { word, summary in
      "complete -c outtray -n __fish_use_subcommand -a \(word) -d \(Completion.quoted(summary))"
    }
    let second = Completion.secondWords(commands).map { first, second in
      "complete -c outtray -n '__fish_seen_subcommand_from \(first)' -a \(second)"
    }
    let lines = [
      "# fish completion of outtray, printed by outtray completion fish", "complete -c outtray -f",
    ]
    return (lines + first + second + commands.flatMap(branch)).joined(separator: "\n")
  }

  private static func branch(_ command: Command) -> [String] {
    let seen = "complete -c outtray -n '__fish_seen_subcommand_from \(command.words[0])'"
    let options = command.options.map { option in
      var line = "\(seen) -l \(option.name)"
      if let letter = option.letter { line += " -s \(letter)" }
      line += " -d \(Completion.quoted(option.about))"
      guard option.value != nil else { return line }
      if !option.choices.isEmpty {
        return "\(line) -x -a \(Completion.quoted(option.choices.joined(separator: " ")))"
      }
      switch option.kind {
      case .file, .directory: return "\(line) -r -F"
      case .text: return "\(line) -x"
      }
    }
    let operands = command.operands.choices
    return options
      + (operands.isEmpty ? [] : ["\(seen) -a \(Completion.quoted(operands.joined(separator: " ")))"])
  }
}
