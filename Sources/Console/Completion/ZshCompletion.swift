/// The script for zsh, by its own `_arguments`.
enum ZshCompletion {
  static func script(_ commands: [Command]) -> String {
    """
    #compdef outtray
    # zsh completion of outtray, printed by outtray completion zsh
    _outtray() {
      if (( CURRENT == 2 )); then
        local -a commands=(
    \(firstWords(commands))
        )
        _describe command commands
        return
      fi
    \(Completion.secondWords(commands).map { first, second in
      """
        if (( CURRENT == 3 )) && [[ $words[2] == \(first) ]]; then
          compadd -- \(second)
          return
        fi
      """
    }.joined(separator: "\n"))
      case "$words[2] $words[3]" in
    \(commands.sorted { $0.words.count > $1.words.count }.map(branch).joined(separator: "\n"))
      esac
    }
    compdef _outtray outtray
    """
  }

  private static func firstWords(_ commands: [Command]) -> String {
    Completion.firstWords(commands).map { word, summary in
      "      " + Completion.quoted("\(word):\(summary)")
    }.joined(separator: "\n")
  }

  private static func branch(_ command: Command) -> String {
    let options = command.options.flatMap { option in
      option.spellings.map { "        " + Completion.quoted(specification(of: option, as: $0)) }
    }
    let operands =
      command.operands.choices.isEmpty
      ? "'*:\(command.operands.usage.isEmpty ? " " : "operand"):'"
      : Completion.quoted("*:operand:(\(command.operands.choices.joined(separator: " ")))")
    return
      (["    \(command.pattern)) _arguments \\"] + options.map { "\($0) \\" } + ["        \(operands) ;;"])
      .joined(separator: "\n")
  }

  private static func specification(of option: Option, as spelling: String) -> String {
    let about = String(option.about.map { "[]:\\".contains($0) ? " " : $0 })
    let begin = "\(option.isRepeatable ? "*" : "")\(spelling)[\(about)]"
    guard let value = option.value else { return begin }
    let name = String(value.map { $0 == ":" ? " " : $0 })
    if !option.choices.isEmpty { return "\(begin):\(name):(\(option.choices.joined(separator: " ")))" }
    switch option.kind {
    case .file: return "\(begin):\(name):_files"
    case .directory: return "\(begin):\(name):_files -/"
    case .text: return "\(begin):\(name):"
    }
  }
}
