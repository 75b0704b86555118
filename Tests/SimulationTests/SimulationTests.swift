import Foundation
import Testing

/// The simulation is a process of its own, since its disk stands in the place of SQLite's and of some
/// functions of the C library. Tests/Simulation/README.md tells what it holds.
@Suite struct SimulationTests {
  /// Beside the tests in the build's folder.
  private static let program = URL(fileURLWithPath: "/proc/self/exe").resolvingSymlinksInPath()
    .deletingLastPathComponent().appendingPathComponent("simulate")

  private func simulate(_ arguments: String...) throws -> (output: String, status: Int32) {
    try run(SimulationTests.program, arguments)
  }

  private func run(_ program: URL, _ arguments: [String]) throws -> (output: String, status: Int32) {
    let process = Process()
    process.executableURL = program
    process.arguments = arguments
    let pipe = Pipe()
    process.standardOutput = pipe
    process.standardError = pipe
    try process.run()
    let output = try pipe.fileHandleForReading.readToEnd() ?? Data()
    process.waitUntilExit()
    return (String(decoding: output, as: UTF8.self), process.terminationStatus)
  }

  @Test("its disk stands in the place of SQLite's for nobody else: no test is linked with it")
  func alone() throws {
    // Spelt so that it is not found where it is looked for.
    let name = Data(["disk", "install"].joined(separator: "_").utf8)
    let tests = URL(fileURLWithPath: "/proc/self/exe")
    #expect(try Data(contentsOf: tests, options: .alwaysMapped).range(of: name) == nil)
    #expect(try Data(contentsOf: SimulationTests.program, options: .alwaysMapped).range(of: name) != nil)
  }

  @Test("the same seed gives the same history, byte for byte, in every process")
  func same() throws {
    let first = try simulate("--seed", "4711", "--count", "5", "--print")
    #expect(first.status == 0)
    #expect(first.output.split(separator: "\n").count > 100)
    #expect(try simulate("--seed", "4711", "--count", "5", "--print").output == first.output)
    #expect(try simulate("--seed", "4712", "--count", "5", "--print").output != first.output)
  }

  @Test("connections that are kept between processes change nothing that is seen")
  func kept() throws {
    let kept = try simulate("--seed", "9001", "--count", "15", "--print")
    #expect(kept.status == 0)
    #expect(try simulate("--seed", "9001", "--count", "15", "--print", "--anew").output == kept.output)
  }

  @Test("D1, D3, D4, D8, D25, D26, D35, D36, A-PROG-03: hosts, servers, disks and clocks break no rule")
  func histories() throws {
    let (output, status) = try simulate("--seed", "1", "--count", "100")
    #expect(status == 0, "\(output)")
  }

  @Test("the bugs that are planted by hand still fit the sources")
  func planted() throws {
    let root = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
      .deletingLastPathComponent()
    let (output, status) = try run(
      URL(fileURLWithPath: "/usr/bin/env"),
      ["git", "-C", root.path, "apply", "--check", "Tests/Simulation/planted/planted.patch"])
    #expect(status == 0, "\(output)")
  }

  @Test("a step that is left out leaves a history that can be played, and a wrong option is refused")
  func replay() throws {
    #expect(try simulate("--seed", "1", "--keep", "0,2-5").status == 0)
    #expect(try simulate("--seed", "1", "--keep", "x").status == 64)
    #expect(try simulate("--seed", "1", "--keep", "900").status == 64)
    #expect(try simulate("--keep", "0").status == 64)
    #expect(try simulate("--help").status == 0)
    #expect(try simulate("--sead", "1").status == 64)
  }
}
