extension Command {
  /// What `--help` prints.
  package var help: String {
    var parts = [usage, about]
    let width = options.map { Command.left(of: $0).count }.max() ?? 0
    parts.append(
      options.map { option in
        Command.columns(Command.left(of: option), option.about, at: width)
      }.joined(separator: "\n"))
    if !examples.isEmpty {
      parts.append("example:\n" + examples.map { "  \($0)" }.joined(separator: "\n"))
    }
    let meanings = (statuses + Command.always).map { "\($0.status) \($0.meaning)" }
    parts.append(Command.wrapped("exit status: 0; " + meanings.joined(separator: "; "), width: 78))
    return parts.joined(separator: "\n\n")
  }

  private static let always: [(status: Int32, meaning: String)] = [
    (Status.usage, "usage"), (Status.internalError, "internal"),
    (Status.cannotCreate, "the directory cannot be used"),
    (Status.temporaryFailure, "it is locked, or could not be changed now: try again"),
  ]

  /// One line, or more where the options are many.
  var usage: String {
    let begin = "usage: outtray \(name)"
    var words = operands.usage.isEmpty ? [] : [operands.usage]
    words += options.filter { $0.name != Option.help.name }.map { option in
      let left = Command.left(of: option)
      return (option.isRequired ? left : "[\(left)]") + (option.isRepeatable ? "..." : "")
    }
    var lines = [begin]
    for word in words {
      if lines[lines.count - 1].count + word.count + 1 > 78 {
        lines.append(String(repeating: " ", count: begin.count))
      }
      lines[lines.count - 1] += " \(word)"
    }
    return lines.joined(separator: "\n")
  }

  private static func left(of option: Option) -> String {
    let letter = option.letter.map { "-\($0), " } ?? ""
    return "\(letter)--\(option.name)\(option.value.map { " \($0)" } ?? "")"
  }

  /// A name and what it means, whose further lines stand under the first.
  static func columns(_ left: String, _ right: String, at width: Int) -> String {
    let begin = "  " + left + String(repeating: " ", count: max(0, width - left.count) + 3)
    let rest = String(repeating: " ", count: begin.count)
    let lines = wrapped(right, width: max(30, 78 - begin.count)).split(separator: "\n")
    return begin + lines.joined(separator: "\n\(rest)")
  }

  static func wrapped(_ text: String, width: Int) -> String {
    var lines = [""]
    for word in text.split(separator: " ") {
      let line = lines[lines.count - 1]
      if !line.isEmpty && line.count + 1 + word.count > width {
        lines.append(String(word))
      } else {
        lines[lines.count - 1] = line.isEmpty ? String(word) : "\(line) \(word)"
      }
    }
    return lines.joined(separator: "\n")
  }
}
