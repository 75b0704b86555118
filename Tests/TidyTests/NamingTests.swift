import Testing

@Suite("Names: one thing, one word; nothing of one machine")
struct NamingTests {
  @Test("the repository keeps to them")
  func repository() {
    #expect(Repository.files.flatMap(Naming.placeFaults) == [])
    #expect(Repository.files.flatMap(Naming.typeFaults) == [])
    #expect(Repository.files.flatMap(Naming.machineFaults) == [])
  }

  @Test(
    "a module, folder or file that says nothing is found",
    arguments: [
      "Sources/Core/A.swift", "clients/js/common/a.js", "Tests/Support/a.py", "Sources/JSONText/Utils.swift",
    ])
  func plantedPlace(path: String) {
    #expect(Naming.placeFaults(in: SourceFile(path: path, text: "")).count == 1)
  }

  @Test(
    "a type name that stands for no one thing is found",
    arguments: [
      "final class QueueManager {", "package struct RetryHelper: Sendable {", "enum EventHandler {",
      "actor TransferCoordinator {", "protocol FileUtilities {", "struct EntryInfo {",
      "typealias RowData = Int",
    ])
  func plantedType(line: String) {
    #expect(
      Naming.typeFaults(in: SourceFile(path: "Sources/A/B.swift", text: "\n" + line)).map(\.line) == [2])
  }

  @Test(
    "names that only look alike are none",
    arguments: [
      "struct DataBody {", "// class QueueManager", "let s = \"enum XInfo\"", "func classifyData() {",
    ])
  func soundType(line: String) {
    #expect(Naming.typeFaults(in: SourceFile(path: "Sources/A/B.swift", text: line)) == [])
  }

  @Test("a machine path is found", arguments: ["work", "farm"])
  func plantedPath(folder: String) {
    let file = SourceFile(path: "README.md", text: "ok\nsee /\(folder)/x\n")
    #expect(Naming.machineFaults(in: file).map(\.line) == [2])
  }
}
