import CLinux
import Glibc

extension Command {
  /// Reads the words behind the command's own: long options, each taking a value or not, among operands; all
  /// behind `--` is an operand. nil asks for help.
  package func read(_ words: [String]) throws(Failure) -> Arguments? {
    var arguments = Arguments()
    let line = Words(["outtray \(name)"] + words)
    let table = OptionTable(options)
    var position: Int32 = 0
    var value: UnsafePointer<CChar>?
    while true {
      let found = clinux_next_option(line.count, line.pointer, table.letters, table.long, &position, &value)
      if found == -1 { break }
      let word = line[Int(position) - 1]
      if found == 0x3A { throw .usage("\(word): needs a value") }
      guard let option = table.found(found) else {
        throw .usage("\(word): is no option of \(name); see outtray \(name) --help")
      }
      if option.name == Option.help.name { return nil }
      let text = value.map { String(cString: $0) } ?? ""
      guard option.choices.isEmpty || option.choices.contains(text) else {
        throw .usage("--\(option.name): must be \(alternatives(option.choices))")
      }
      arguments.add(option, text)
    }
    arguments.add(operands: (Int(position)..<Int(line.count)).map { line[$0] })
    try check(arguments.operands)
    return arguments
  }

  private func check(_ given: [String]) throws(Failure) {
    if given.count > operands.count.upperBound {
      throw .usage("\(given[operands.count.upperBound]): was not expected; see outtray \(name) --help")
    }
    if given.count < operands.count.lowerBound {
      throw .usage("needs \(operands.usage); see outtray \(name) --help")
    }
    if let strange = given.first(where: { !operands.choices.isEmpty && !operands.choices.contains($0) }) {
      throw .usage("\(strange): must be \(alternatives(operands.choices))")
    }
  }
}

/// `a, b or c`.
func alternatives(_ names: [String]) -> String {
  guard let last = names.last, names.count > 1 else { return names.first ?? "" }
  return "\(names.dropLast().joined(separator: ", ")) or \(last)"
}

/// Words as the C library takes them, which moves them about.
private final class Words {
  let pointer: UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>
  let count: Int32

  init(_ words: [String]) {
    count = Int32(words.count)
    pointer = .allocate(capacity: words.count + 1)
    for (position, word) in words.enumerated() { (pointer + position).initialize(to: strdup(word)) }
    (pointer + words.count).initialize(to: nil)
  }

  deinit {
    for position in 0..<Int(count) { free(pointer[position]) }
    pointer.deallocate()
  }

  subscript(position: Int) -> String { pointer[position].map { String(cString: $0) } ?? "" }
}

/// Options as getopt_long takes them.
private final class OptionTable {
  private let options: [Option]
  private let names: [UnsafeMutablePointer<CChar>?]
  let long: [option]
  let letters: String

  /// Above every letter.
  private static let first: Int32 = 256

  init(_ options: [Option]) {
    self.options = options
    names = options.map { strdup($0.name) }
    long =
      zip(options, names).enumerated().map { number, pair in
        option(
          name: UnsafePointer(pair.1), has_arg: pair.0.value == nil ? no_argument : required_argument,
          flag: nil, val: OptionTable.first + Int32(number))
      } + [option()]
    // The colon has a missing value told apart from an unknown option.
    letters =
      ":"
      + options.compactMap { option in option.letter.map { "\($0)\(option.value == nil ? "" : ":")" } }
      .joined()
  }

  deinit { for name in names { free(name) } }

  /// What getopt_long has found; nil for what is no option.
  func found(_ found: Int32) -> Option? {
    if found >= OptionTable.first { return options[Int(found - OptionTable.first)] }
    return options.first { option in option.letter?.asciiValue.map { Int32($0) } == found }
  }
}
