/// Names that say nothing, and paths that only one machine has.
enum Naming {
  static let emptyNames: Set = ["core", "common", "support", "util", "utils"]
  private static let emptySuffixes = ["Manager", "Coordinator", "Helper", "Handler", "Info", "Data"]

  /// Modules, folders and files called Core, Common, Support or Utils.
  static func placeFaults(in file: SourceFile) -> [Fault] {
    (file.folders + [file.stem]).filter { emptyNames.contains($0.lowercased()) }
      .map { Fault(path: file.path, line: 1, what: "the name \($0) says nothing") }
  }

  /// Types of Swift, Python and JavaScript whose name stands for no one thing.
  static func typeFaults(in file: SourceFile) -> [Fault] {
    guard ["swift", "py", "js", "mjs"].contains(file.kind) else { return [] }
    let declaration = #/\b(?:struct|class|enum|actor|protocol|typealias)\s+([A-Z]\w*)/#
    let lines = file.kind == "swift" ? CodeText(file.text).lines : file.lines
    return lines.enumerated().flatMap { number, line in
      line.matches(of: declaration).map(\.1).filter(isEmpty).map {
        Fault(path: file.path, line: number + 1, what: "the type name \($0) stands for no one thing")
      }
    }
  }

  /// Paths that exist on one machine only.
  static func machineFaults(in file: SourceFile) -> [Fault] {
    // Put together here, so that this file does not hold them.
    let places = ["work", "farm"].map { "/\($0)/" }
    return file.lines.enumerated().flatMap { number, line in
      places.filter { line.contains($0) }
        .map { Fault(path: file.path, line: number + 1, what: "names the machine path \($0)") }
    }
  }

  private static func isEmpty(_ name: Substring) -> Bool {
    emptySuffixes.contains { name.hasSuffix($0) } || name.contains("Util")
  }
}
