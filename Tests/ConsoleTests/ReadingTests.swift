import Testing

@testable import Console

/// getopt_long has one state for the process.
@Suite("The reading of a command line", .serialized)
struct ReadingTests {
  private let command = Command(
    "do it", "does it", operands: Operands("ID...", 1...2),
    options: [
      Option("dir", "DIR", "a directory", isRequired: true),
      Option("state", "S", "a state", choices: ["on", "off"]),
      Option("header", "N: V", "a header", isRepeatable: true), Option("follow", nil, "follows", letter: "f"),
    ],
    about: "It does.", examples: ["outtray do it x"], run: { _, _ in Status.success })

  private func read(_ words: String...) throws(Failure) -> Arguments? { try command.read(words) }

  @Test("options stand before, between and behind operands")
  func anywhere() throws {
    let arguments = try #require(
      try read("a", "--state", "on", "b", "-f", "--header=x: 1", "--header", "y: 2"))
    #expect(arguments.operands == ["a", "b"])
    #expect(arguments.value("state") == "on" && arguments.has("follow") && !arguments.has("dir"))
    #expect(arguments.values("header") == ["x: 1", "y: 2"])
  }

  @Test("all behind -- is an operand")
  func dashes() throws {
    #expect(try read("--", "--state", "-f")?.operands == ["--state", "-f"])
  }

  @Test("--help asks for help, whatever is wrong behind it or missing")
  func help() throws {
    #expect(try read("--help") == nil)
    #expect(try read("a", "--help", "b", "c", "--nope") == nil)
    #expect(command.help.hasPrefix("usage: outtray do it ID... --dir DIR [--state S] [--header N: V]..."))
  }

  @Test(
    "what is wrong is named, with status 64",
    arguments: [
      (["a", "--nope"], "--nope: is no option of do it"), (["a", "--state"], "--state: needs a value"),
      (["a", "--state", "up"], "--state: must be on or off"), (["a", "b", "c"], "c: was not expected"),
      ([], "needs ID..."), (["a", "-x"], "-x: is no option"),
    ])
  func wrong(_ words: [String], _ message: String) {
    let failure = #expect(throws: Failure.self) { try command.read(words) }
    #expect(failure?.status == Status.usage)
    #expect(failure?.message.hasPrefix(message) == true)
  }

  @Test("a command is found by all its words")
  func find() throws {
    let table = CommandTable(adding: [command])
    #expect(try table.find(["do", "it", "x"]).rest == ["x"])
    #expect(try table.find(["ls", "--json"]).command.name == "ls")
    for words in [["do"], ["fly"], []] { #expect(throws: Failure.self) { try table.find(words) } }
  }

  @Test("every command has an example that its own reading takes, and help that fits 90 columns")
  func examples() throws {
    let table = CommandTable(adding: [])
    for command in table.commands {
      #expect(!command.examples.isEmpty && command.help.contains("exit status: 0;"))
      for example in command.examples {
        let (found, rest) = try table.find(ReadingTests.words(of: example))
        #expect(found.name == command.name)
        #expect(try found.read(rest) != nil, "\(example)")
      }
      #expect(command.help.split(separator: "\n").allSatisfy { $0.count <= 90 })
    }
  }

  /// What a shell makes of the first command line of outtray in an example, which may be part of a pipe.
  private static func words(of example: String) -> [String] {
    let behind = example[(example.firstRange(of: "outtray ")?.upperBound ?? example.endIndex)...]
    var words = [""]
    var isQuoted = false
    for character in behind {
      if !isQuoted, ">|)".contains(character) { break }
      switch character {
      case "'": isQuoted.toggle()
      case " " where !isQuoted: words.append("")
      default: words[words.count - 1].append(character)
      }
    }
    return words.filter { !$0.isEmpty }
  }
}
