import Console
import Glibc

/// The command line: `outtray serve --dir DIR`, `outtray check`, and the commands of Console.
enum CommandLineTool {
  static let version = "0.1.0"

  private static let table = CommandTable(adding: [Serve.command, Check.command])

  static func run(_ arguments: [String]) -> Int32 {
    // libcurl converts international host names by the locale; this one is built into the C library (D33).
    setlocale(LC_CTYPE, "C.UTF-8")
    let around = Surroundings(output: Output(), doors: Change.doors)
    do throws(Failure) {
      switch arguments.dropFirst().first {
      case "--help", "-h", "help": try around.output.line(table.overview)
      case "--version", "-V": try around.output.line("outtray \(version)")
      default: return try run(Array(arguments.dropFirst()), around)
      }
      return Status.success
    } catch {
      // The last line of stderr.
      around.remark(Printable.text(error.message))
      return error.status
    }
  }

  private static func run(_ words: [String], _ around: Surroundings) throws(Failure) -> Int32 {
    let (command, rest) = try table.find(words)
    guard let arguments = try command.read(rest) else {
      try around.output.line(command.help)
      return Status.success
    }
    return try command.run(arguments, around)
  }
}
