/// One command: all that its help, the reading of its line and the completion of shells are made from.
package struct Command: Sendable {
  /// As they are typed behind `outtray`: `["headers", "set"]`.
  package let words: [String]
  let summary: String
  let operands: Operands
  let options: [Option]
  /// What it does, in paragraphs that fit a terminal.
  let about: String
  let examples: [String]
  /// What its statuses mean, beside those that all have.
  let statuses: [(status: Int32, meaning: String)]
  package let run: Run

  /// Gives the exit status.
  package typealias Run = @Sendable (Arguments, Surroundings) throws(Failure) -> Int32

  package init(
    _ name: String, _ summary: String, operands: Operands = .none, options: [Option], about: String,
    examples: [String], statuses: [(status: Int32, meaning: String)] = [], run: @escaping Run
  ) {
    words = name.split(separator: " ").map(String.init)
    self.summary = summary
    self.operands = operands
    self.options = options + [.help]
    self.about = about
    self.examples = examples
    self.statuses = statuses
    self.run = run
  }

  package var name: String { words.joined(separator: " ") }
}

/// What a command takes beside its options.
package struct Operands: Sendable {
  /// For its usage: `ID...`; empty when it takes none.
  let usage: String
  let count: ClosedRange<Int>
  /// All that a shell may complete.
  var choices: [String] = []

  package init(_ usage: String, _ count: ClosedRange<Int>, choices: [String] = []) {
    self.usage = usage
    self.count = count
    self.choices = choices
  }

  package static let none = Operands("", 0...0)
}

/// One option of a command.
package struct Option: Sendable {
  /// What a value names, for the completion of shells.
  package enum Kind: Sendable {
    case text, file, directory
  }

  let name: String
  /// What stands for its value in the usage; nil for one that takes none.
  let value: String?
  let about: String
  /// All the values that it takes; empty when they cannot be listed.
  var choices: [String] = []
  var kind = Kind.text
  var letter: Character?
  var isRepeatable = false
  /// For its usage; the command itself refuses to go without it.
  var isRequired = false

  package init(
    _ name: String, _ value: String? = nil, _ about: String, choices: [String] = [], kind: Kind = .text,
    letter: Character? = nil, isRepeatable: Bool = false, isRequired: Bool = false
  ) {
    self.name = name
    self.value = value
    self.about = about
    self.choices = choices
    self.kind = kind
    self.letter = letter
    self.isRepeatable = isRepeatable
    self.isRequired = isRequired
  }

  static let help = Option("help", nil, "print this")
  static let json = Option("json", nil, "print JSON, one object a line")
  static let directory = Option(
    "dir", "DIR", "the queue's directory (default: $\(directoryVariable))", kind: .directory)
  static let directoryVariable = "OUTTRAY_DIR"
}
