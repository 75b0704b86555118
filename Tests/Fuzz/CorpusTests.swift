import Foundation
import Testing

@Suite("Fuzz corpora, and the inputs that once found something", .serialized)
struct CorpusTests {
  static let targets = FuzzTargets.all.map(\.name)

  private static func inputs(_ folder: String) throws -> [(name: String, bytes: [UInt8])] {
    let here = URL(fileURLWithPath: #filePath).deletingLastPathComponent().appendingPathComponent(folder)
    let names = (try? FileManager.default.contentsOfDirectory(atPath: here.path)) ?? []
    return try names.sorted().map { ($0, [UInt8](try Data(contentsOf: here.appendingPathComponent($0)))) }
  }

  @Test("every input keeps what its target promises", arguments: targets)
  func replay(name: String) throws {
    let target = try FuzzTargets.make(name)
    let corpus = try Self.inputs("corpus/\(name)")
    #expect(!corpus.isEmpty)
    for (file, input) in try corpus + Self.inputs("found/\(name)") {
      #expect(throws: Never.self, "\(name)/\(file)") { try target.run(input) }
    }
  }

  @Test("rows: of every input everything is told, and as by a connection that is opened for it")
  func anew() throws {
    let target = try RowTarget()
    let sample = try target.answers(to: [], anew: true)
    #expect(sample.count > 150)
    var changed = 0
    for (file, input) in try Self.inputs("corpus/rows") + Self.inputs("found/rows") {
      let answers = try target.answers(to: input, anew: false)
      let others = try target.answers(to: input, anew: true)
      let different = zip(answers, others).first { $0 != $1 }
      #expect(others == answers, "\(file): \(different.map { "\($0) and \($1)" } ?? "more of them")")
      if answers != sample { changed += 1 }
      #expect(throws: Never.self, "\(file)") { try target.run(input, asking: .everything, verifies: true) }
    }
    #expect(changed > 20)
    #expect(try target.answers(to: [], anew: false) == sample)
  }

  @Test("every folder of inputs belongs to a target", arguments: ["corpus", "found"])
  func folders(kind: String) throws {
    let here = URL(fileURLWithPath: #filePath).deletingLastPathComponent().appendingPathComponent(kind)
    let names = try FileManager.default.contentsOfDirectory(atPath: here.path)
    #expect(Set(names).isSubset(of: Self.targets))
  }

  @Test("a promise that does not hold is told, and so is a target that there is not")
  func broken() {
    #expect(throws: Broken.self) { try require(false, "it holds") }
    #expect(throws: Broken.self) { try FuzzTargets.make("none") }
  }
}
