/// How long files, functions and lines may get.
enum Sizes {
  static let fileLines = 400
  static let functionLines = 70
  static let columns = 110
  static let kinds: Set = ["swift", "h", "py", "js", "mjs", "ts", "go", "sh", "html", "css"]

  /// Generated declarations stay in one file: TypeScript looks for them beside the module of their name.
  static func fileFaults(in file: SourceFile) -> [Fault] {
    guard !(file.kind == "ts" && file.isGenerated) else { return [] }
    let count = file.text.hasSuffix("\n") ? file.lines.count - 1 : file.lines.count
    guard count > fileLines else { return [] }
    return [Fault(path: file.path, line: count, what: "\(count) lines, at most \(fileLines)")]
  }

  /// Generated files may have longer lines.
  static func columnFaults(in file: SourceFile) -> [Fault] {
    guard !file.isGenerated else { return [] }
    return file.lines.enumerated().filter { $0.element.count > columns }.map {
      Fault(path: file.path, line: $0.offset + 1, what: "\($0.element.count) columns, at most \(columns)")
    }
  }

  /// Swift functions and initializers whose lines, the first and the last included, are too many.
  static func functionFaults(in file: SourceFile) -> [Fault] {
    guard file.kind == "swift" else { return [] }
    let code = CodeText(file.text).characters
    return FunctionBodies(code).spans.filter { $0.count > functionLines }.map {
      Fault(
        path: file.path, line: $0.lowerBound,
        what: "a function of \($0.count) lines, at most \(functionLines)")
    }
  }
}

/// Finds functions by their keyword, their parameters and the braces behind them.
struct FunctionBodies {
  /// Lines from 1 that each function covers.
  private(set) var spans: [ClosedRange<Int>] = []

  private static let declarations: Set = [
    "func", "init", "deinit", "subscript", "var", "let", "case", "struct", "class", "enum", "protocol",
    "static",
    "extension", "package", "private", "public", "internal", "fileprivate", "mutating", "typealias",
    "associatedtype",
  ]

  /// `code` is text whose strings and comments are blank.
  init(_ code: [Character]) {
    let lineOf = code.reduce(into: [1]) { $0.append($0[$0.count - 1] + ($1 == "\n" ? 1 : 0)) }
    var at = 0
    while at < code.count {
      let word = Self.word(code, at)
      if ["func", "init", "deinit"].contains(word), at == 0 || !Self.continuesName(code[at - 1]),
        let open = Self.bodyStart(code, at + word.count), let close = Self.matching(code, open)
      {
        spans.append(lineOf[at]...lineOf[close])
      }
      at += max(1, word.count)
    }
  }

  private static func continuesName(_ character: Character) -> Bool {
    character.isLetter || character.isNumber || character == "_" || character == "." || character == "`"
  }

  private static func word(_ code: [Character], _ at: Int) -> String {
    String(code[at...].prefix { $0.isLetter || $0.isNumber || $0 == "_" })
  }

  /// Where the body's brace stands; nil for a requirement of a protocol, and for a call.
  private static func bodyStart(_ code: [Character], _ from: Int) -> Int? {
    var at = from
    var depth = 0
    while at < code.count {
      switch code[at] {
      case "(", "[": depth += 1
      case ")", "]": depth -= 1
      case "{" where depth == 0: return at
      case "}" where depth == 0: return nil
      default:
        let word = word(code, at)
        if depth == 0, declarations.contains(word) { return nil }
        at += max(0, word.count - 1)
      }
      if depth < 0 { return nil }
      at += 1
    }
    return nil
  }

  private static func matching(_ code: [Character], _ open: Int) -> Int? {
    var depth = 0
    for at in open..<code.count {
      if code[at] == "{" { depth += 1 }
      if code[at] == "}" { depth -= 1 }
      if depth == 0 { return at }
    }
    return nil
  }
}
