/// Which module may know which: the table of the house.
enum Layering {
  /// A module and the modules of ours, and the C libraries, that it may import.
  static let table: [String: Set<String>] = [
    "JSONText": [],
    "OuttrayProtocol": ["JSONText"],
    "QueueModel": ["JSONText"],
    "JSONRPC": ["JSONText"],
    "HTTPTransport": ["QueueModel", "CCurl", "CLinux"],
    "QueueStore": ["QueueModel", "JSONText", "CSQLite", "CLinux"],
    "QueueEngine": ["QueueModel", "QueueStore"],
    "SidecarServer": ["OuttrayProtocol", "QueueModel", "QueueEngine", "JSONRPC", "JSONText", "CLinux"],
    "AcceptanceCheck": ["OuttrayProtocol", "JSONRPC", "JSONText", "CLinux"],
    "Console": ["OuttrayProtocol", "QueueModel", "QueueStore", "JSONRPC", "JSONText", "CLinux"],
    "outtray": [
      "JSONText", "OuttrayProtocol", "QueueModel", "JSONRPC", "HTTPTransport", "QueueStore", "QueueEngine",
      "SidecarServer", "AcceptanceCheck", "Console", "CLinux", "CCurl", "CSQLite",
    ],
  ]

  /// Layer 0 has no I/O, no clock and no threads, so it needs neither of these; the others may have them.
  static let system: Set = ["Glibc", "Synchronization"]
  static let layerZero: Set = ["JSONText", "OuttrayProtocol", "QueueModel"]

  /// Import lines of a file under Sources/ that the table does not allow.
  static func faults(in file: SourceFile) -> [Fault] {
    guard file.folders.count >= 2, file.folders[0] == "Sources", file.kind == "swift" else { return [] }
    let module = String(file.folders[1])
    guard let mayImport = table[module] else {
      return [Fault(path: file.path, line: 1, what: "\(module) is not in the table")]
    }
    let allowed = layerZero.contains(module) ? mayImport : mayImport.union(system)
    return imports(of: file).filter { !allowed.contains($0.module) }
      .map { Fault(path: file.path, line: $0.line, what: "\(module) may not import \($0.module)") }
  }

  /// Imports of XCTest: the tests use Swift Testing.
  static func xctestFaults(in file: SourceFile) -> [Fault] {
    guard file.kind == "swift" else { return [] }
    return imports(of: file).filter { $0.module == "XCTest" }
      .map { Fault(path: file.path, line: $0.line, what: "imports XCTest") }
  }

  /// Dependencies that the manifest gives a module and the table does not.
  static func manifestFaults(in file: SourceFile) -> [Fault] {
    let declaration = #/layer\("(\w+)"(?:, \[([^\]]*)\])?\)/#
    let code = file.text.split(separator: "\n", omittingEmptySubsequences: false)
    return code.enumerated().flatMap { number, line -> [Fault] in
      guard let match = line.firstMatch(of: declaration) else { return [] }
      let module = String(match.1)
      let declared = (match.2 ?? "").matches(of: #/"(\w+)"/#).map { String($0.1) }
      return declared.filter { !(table[module] ?? []).contains($0) }.map {
        Fault(path: file.path, line: number + 1, what: "the manifest gives \(module) the module \($0)")
      }
    }
  }

  private static func imports(of file: SourceFile) -> [(module: String, line: Int)] {
    let statement =
      #/^\s*(?:@\w+(?:\([^)]*\))?\s+|(?:public|package|internal|fileprivate|private)\s+)*import\s+(.+)$/#
    return CodeText(file.text).lines.enumerated().compactMap { number, line in
      guard let match = line.firstMatch(of: statement) else { return nil }
      // `import struct Module.Type` names the kind first.
      let last = match.1.split(separator: " ").last ?? ""
      return (String(last.prefix { $0 != "." && $0 != ";" }), number + 1)
    }
  }
}
