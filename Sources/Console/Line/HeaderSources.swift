import Glibc
import JSONText

/// Header fields as people give them: values come from where no other process can read them (D38).
typealias HeaderLines = [(name: String, value: String)]

extension HeaderLines {
  func write(into writer: inout JSONWriter) {
    writer.object { for (name, value) in self { $0.member(name, value) } }
  }

  /// Lines like `Name: value`.
  ///
  /// - Parameter place: For the refusal, which never repeats the line.
  init(lines text: String, from place: String) throws(Failure) {
    self.init()
    let lines = text.split(separator: "\n", omittingEmptySubsequences: false)
    for (number, line) in lines.enumerated() where !line.allSatisfy(\.isWhitespace) {
      guard let colon = line.firstIndex(of: ":") else {
        throw .usage("\(place): line \(number + 1) must be like Name: value")
      }
      append((String(line[..<colon]), trimmed(line[line.index(after: colon)...])))
    }
  }
}

private func trimmed(_ text: Substring) -> String {
  let rest = text.drop { $0 == " " || $0 == "\t" }
  return String(rest.reversed().drop { $0.isWhitespace }.reversed())
}

enum HeaderSources {
  /// Reads `NAME`, `NAME=-`, `NAME=@FILE` and `NAME=env:VAR`; without any, lines of stdin.
  static func read(_ operands: [String]) throws(Failure) -> HeaderLines {
    guard !operands.isEmpty else {
      let headers = try HeaderLines(lines: try Input.text(of: "-"), from: "stdin")
      guard !headers.isEmpty else { throw .usage("stdin held no header; see outtray headers set --help") }
      return headers
    }
    var headers: HeaderLines = []
    var lines: ArraySlice<Substring>?
    for operand in operands {
      let (name, source) = try split(operand)
      switch source {
      case .line:
        if lines == nil { lines = try Input.text(of: "-").split(separator: "\n")[...] }
        guard let line = lines?.popFirst() else {
          throw .usage("stdin held no value for \(Printable.text(name))")
        }
        headers.append((name, trimmed(line)))
      case .file(let path): headers.append((name, trimmed(try Input.text(of: path)[...])))
      case .variable(let variable):
        guard let value = getenv(variable).map({ String(cString: $0) }) else {
          throw .usage("\(Printable.text(variable)): is not in the environment")
        }
        headers.append((name, value))
      }
    }
    return headers
  }

  private enum Source {
    case line
    case file(String)
    case variable(String)
  }

  private static func split(_ operand: String) throws(Failure) -> (name: String, source: Source) {
    // A value that was given all the same is not repeated.
    guard !operand.prefix(while: { $0 != "=" }).contains(":") else {
      throw .usage(
        "a value must not be an argument, since every process can read those: "
          + "NAME=-, NAME=@FILE or NAME=env:VAR")
    }
    guard let equals = operand.firstIndex(of: "=") else { return (operand, .line) }
    let name = String(operand[..<equals])
    let source = operand[operand.index(after: equals)...]
    if source == "-" { return (name, .line) }
    if source.hasPrefix("@") { return (name, .file(String(source.dropFirst()))) }
    if source.hasPrefix("env:") { return (name, .variable(String(source.dropFirst(4)))) }
    throw .usage(
      "\(Printable.text(name)): its value comes from -, @FILE or env:VAR, never from the argument itself")
  }
}
