import Testing

@Suite("Layering: each module imports what the table of the house allows")
struct LayeringTests {
  @Test("every import line under Sources stands in the table")
  func importsOfTheRepository() {
    let sources = Repository.files(kinds: ["swift"]).filter { $0.folders.first == "Sources" }
    #expect(Set(sources.map { String($0.folders[1]) }) == Set(Layering.table.keys))
    #expect(sources.flatMap(Layering.faults) == [])
  }

  @Test("the manifest declares no dependency that the table does not know")
  func manifestOfTheRepository() throws {
    let manifest = try #require(Repository.files.first { $0.path == "Package.swift" })
    #expect(Layering.manifestFaults(in: manifest) == [])
  }

  @Test("nothing imports XCTest")
  func noXCTest() {
    #expect(Repository.files.flatMap(Layering.xctestFaults) == [])
  }

  @Test(
    "an import that the table forbids is found",
    arguments: [
      ("QueueModel", "import QueueStore"), ("QueueModel", "import Glibc"),
      ("JSONText", "import Synchronization"),
      ("QueueStore", "package import HTTPTransport"), ("HTTPTransport", "@preconcurrency import CSQLite"),
      ("JSONRPC", "import struct OuttrayProtocol.Method"), ("QueueEngine", "  internal import SidecarServer"),
      ("SidecarServer", "import Foundation"), ("Surprise", "let x = 1"),
    ])
  func plantedImport(module: String, line: String) {
    let file = SourceFile(path: "Sources/\(module)/A.swift", text: "// a\n\(line)\n")
    #expect(Layering.faults(in: file).count == 1)
  }

  @Test(
    "an import that the table allows, and a word in a comment or string, are none",
    arguments: [
      "package import JSONText", "import Glibc", "import Synchronization", "// import Foundation",
      "let a = \"import Foundation\"", "/* a\nimport Foundation\n*/",
    ])
  func allowedImport(line: String) {
    let file = SourceFile(path: "Sources/QueueStore/A.swift", text: line)
    #expect(Layering.faults(in: file) == [])
  }

  @Test("a dependency too many in the manifest, and an import of XCTest, are found")
  func plantedManifest() {
    let manifest = SourceFile(
      path: "Package.swift", text: "layer(\"JSONText\"),\nlayer(\"QueueModel\", [\"CCurl\"])")
    #expect(Layering.manifestFaults(in: manifest).map(\.line) == [2])
    let test = SourceFile(path: "Tests/A/B.swift", text: "@testable import XCTest")
    #expect(Layering.xctestFaults(in: test).count == 1)
  }
}
