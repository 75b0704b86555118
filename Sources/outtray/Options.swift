import CLinux
import Glibc
import SidecarServer

/// What the command line asks for.
enum Options {
  /// The text to print.
  case help(String)
  case version
  case serve(Serve.Options)
  case check(Check.Options)

  struct Problem: Error {
    let message: String
  }

  private enum Code: Int32 {
    case directory = 256
    case maxLine, onDisconnect, noParentWatch, virtualClock, keepAwake, logLevel, logFormat
    case url, keep, json, help
  }

  static func read(_ arguments: [String]) throws(Problem) -> Options {
    guard arguments.count > 1 else { throw Problem(message: "say what to do; see outtray --help") }
    switch arguments[1] {
    case "serve": return try serve(Array(arguments.dropFirst()))
    case "check": return try check(Array(arguments.dropFirst()))
    case "--help", "-h", "help": return .help(CommandLineTool.usage)
    case "--version", "-V": return .version
    default: throw Problem(message: "there is no command \(arguments[1]); see outtray --help")
    }
  }

  private static func serve(_ arguments: [String]) throws(Problem) -> Options {
    var options = Serve.Options()
    var wantsHelp = false
    try parse(
      arguments,
      [
        ("dir", true, .directory), ("max-line", true, .maxLine), ("on-disconnect", true, .onDisconnect),
        ("no-parent-watch", false, .noParentWatch), ("virtual-clock", false, .virtualClock),
        ("keep-awake", false, .keepAwake), ("log-level", true, .logLevel), ("log-format", true, .logFormat),
        ("help", false, .help),
      ]
    ) { (code, value) throws(Problem) in
      switch code {
      case .directory: options.directory = value
      case .maxLine:
        guard let bytes = Int(value), (1024...(1 << 30)).contains(bytes) else {
          throw Problem(message: "--max-line: must be a number of bytes from 1024 to 1073741824")
        }
        options.maxLine = bytes
      case .onDisconnect:
        guard let wish = OnDisconnect(value) else {
          throw Problem(message: "--on-disconnect: must be exit, drain or stay:SECONDS")
        }
        options.onDisconnect = wish
      case .noParentWatch: options.watchesParent = false
      case .logLevel: options.logLevel = try choice(value, of: "--log-level")
      case .logFormat: options.logForm = try choice(value, of: "--log-format")
      case .virtualClock: options.isClockVirtual = true
      case .keepAwake: options.keepsAwake = true
      case .help: wantsHelp = true
      case .url, .keep, .json: break
      }
    }
    if wantsHelp { return .help(CommandLineTool.usage) }
    guard !options.directory.isEmpty else { throw Problem(message: "--dir: is required") }
    return .serve(options)
  }

  /// One of the raw values of `Value`.
  private static func choice<Value: RawRepresentable & CaseIterable>(
    _ text: String, of option: String
  ) throws(Problem) -> Value where Value.RawValue == String {
    guard let value = Value(rawValue: text) else {
      let names = Value.allCases.map(\.rawValue).joined(separator: ", ")
      throw Problem(message: "\(option): must be one of \(names)")
    }
    return value
  }

  private static func check(_ arguments: [String]) throws(Problem) -> Options {
    var options = Check.Options()
    var wantsHelp = false
    try parse(
      arguments,
      [
        ("url", true, .url), ("dir", true, .directory), ("keep", false, .keep), ("json", false, .json),
        ("help", false, .help),
      ]
    ) { (code, value) throws(Problem) in
      switch code {
      case .url:
        let scheme = ["http://", "https://"].first { value.lowercased().hasPrefix($0) }
        guard let scheme, value.count > scheme.count else {
          throw Problem(message: "--url: must be a URL of http or https")
        }
        // Never printed, and the queue would refuse it in every stage.
        guard !value.dropFirst(scheme.count).prefix(while: { $0 != "/" }).contains("@") else {
          throw Problem(message: "--url: must hold no user information")
        }
        options.url = value
      case .directory:
        guard !value.isEmpty else { throw Problem(message: "--dir: must not be empty") }
        options.directory = value
      case .keep: options.keeps = true
      case .json: options.writesJSON = true
      case .help: wantsHelp = true
      case .maxLine, .onDisconnect, .noParentWatch, .virtualClock, .keepAwake, .logLevel, .logFormat: break
      }
    }
    return wantsHelp ? .help(Check.usage) : .check(options)
  }

  /// Reads long options, each taking a value or not, and nothing behind them.
  private static func parse(
    _ arguments: [String], _ known: [(name: String, takesValue: Bool, code: Code)],
    _ take: (Code, String) throws(Problem) -> Void
  ) throws(Problem) {
    let names = known.map { strdup($0.name) }
    // The C library may reorder the words, so those to be freed are kept apart.
    let words = arguments.map { strdup($0) }
    defer { for pointer in names + words { free(pointer) } }
    var table = zip(known, names).map { known, name in
      option(
        name: UnsafePointer(name), has_arg: known.takesValue ? required_argument : no_argument, flag: nil,
        val: known.code.rawValue)
    }
    table.append(option())
    var position: Int32 = 1
    var value: UnsafePointer<CChar>?
    while true {
      let found = clinux_next_option(Int32(arguments.count), words + [nil], table, &position, &value)
      if found == -1 { break }
      let word = arguments[Int(position) - 1]
      if found == 0x3A { throw Problem(message: "\(word): needs a value") }
      guard let code = Code(rawValue: found) else {
        throw Problem(message: "\(word): is no option of \(arguments[0]); see outtray --help")
      }
      try take(code, value.map { String(cString: $0) } ?? "")
    }
    guard Int(position) == arguments.count else {
      throw Problem(message: "\(arguments[Int(position)]): was not expected; see outtray --help")
    }
  }
}
