/// The script for bash 4 and newer.
enum BashCompletion {
  static func script(_ commands: [Command]) -> String {
    """
    # bash completion of outtray, printed by outtray completion bash
    _outtray() {
      local current=${COMP_WORDS[COMP_CWORD]} previous=${COMP_WORDS[COMP_CWORD-1]} words= kind=
      COMPREPLY=()
      if (( COMP_CWORD == 1 )); then
        words=\(quoted(Completion.firstWords(commands).map(\.word) + ["--help", "--version"]))
      else
        case "${COMP_WORDS[1]} ${COMP_WORDS[2]}" in
    \(commands.sorted { $0.words.count > $1.words.count }.map(branch).joined(separator: "\n"))
        esac
    \(seconds(commands))
      fi
      case $kind in
        file) mapfile -t COMPREPLY < <(compgen -f -- "$current") ;;
        directory) mapfile -t COMPREPLY < <(compgen -d -- "$current") ;;
        text) ;;
        *) mapfile -t COMPREPLY < <(compgen -W "$words" -- "$current") ;;
      esac
    }
    complete -o filenames -F _outtray outtray
    """
  }

  /// What may stand at a place of one command: the values of the option before it, else options and operands.
  private static func branch(_ command: Command) -> String {
    let values = command.options.filter { $0.value != nil }.map { option in
      "          \(option.spellings.joined(separator: "|"))) \(value(of: option)) ;;"
    }
    let words = command.options.flatMap(\.spellings) + command.operands.choices
    return
      ([
        "      \(command.pattern))", "        case $previous in",
      ] + values + [
        "          *) words=\(quoted(words)) ;;", "        esac ;;",
      ]).joined(separator: "\n")
  }

  private static func value(of option: Option) -> String {
    if !option.choices.isEmpty { return "words=\(quoted(option.choices))" }
    switch option.kind {
    case .file: return "kind=file"
    case .directory: return "kind=directory"
    case .text: return "kind=text"
    }
  }

  private static func seconds(_ commands: [Command]) -> String {
    Completion.secondWords(commands).map { first, second in
      "    [[ $COMP_CWORD == 2 && ${COMP_WORDS[1]} == \(first) ]] && words=\(second)"
    }.joined(separator: "\n")
  }

  private static func quoted(_ words: [String]) -> String { Completion.quoted(words.joined(separator: " ")) }
}
