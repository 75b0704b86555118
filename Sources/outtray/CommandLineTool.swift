import Glibc

/// The command line: `outtray serve --dir DIR`, `outtray check`.
enum CommandLineTool {
  /// Exit statuses, after sysexits.h but for `failed`.
  enum Status {
    /// The check ran, and does not hold.
    static let failed: Int32 = 1
    static let usage: Int32 = 64
    static let internalError: Int32 = 70
    static let cannotCreate: Int32 = 73
    static let temporaryFailure: Int32 = 75
  }

  static let version = "0.1.0"

  static let usage = """
    usage: outtray serve --dir DIR [--max-line BYTES] [--on-disconnect WHAT] [--no-parent-watch]
                         [--keep-awake] [--virtual-clock] [--log-level LEVEL] [--log-format text | json]
           outtray check [--url URL] [--dir DIR] [--keep] [--json]
           outtray --version | --help

    serve   owns the queue in DIR and speaks JSON-RPC 2.0, one object a line, on stdin and stdout; beside a
            process that owns it already, it reaches the queue through that one
    check   shows that outtray works on this machine; see outtray check --help

    options of serve:

      --dir DIR           the queue's directory; made when it is not there
      --max-line BYTES    longest line that is read (default 67108864)
      --on-disconnect exit | drain | stay:SECONDS
                          when the last host is gone: stop transfers, keep all state, exit (the default);
                          or go on until nothing is left to send; or that, but at most so long
      --no-parent-watch   do not end when the parent process has ended
      --keep-awake        keep the machine from going to sleep while requests are sent (by logind)
      --virtual-clock     for tests: the queue's clock stands still, and advanceClock moves it
      --log-level error | warn | info | debug
                          what is told on stderr (default warn)
      --log-format text | json
                          a line for people (the default), or a JSON object a line

    exit status: 0; 64 usage; 70 internal; 73 the directory cannot be used; 75 it is locked
    """

  static func run(_ arguments: [String]) -> Int32 {
    // libcurl converts international host names by the locale; this one is built into the C library (D33).
    setlocale(LC_CTYPE, "C.UTF-8")
    do throws(Options.Problem) {
      switch try Options.read(arguments) {
      case .help(let text): return say(text) ? 0 : Status.internalError
      case .version: return say("outtray \(version)") ? 0 : Status.internalError
      case .serve(let options): return Serve.run(options)
      case .check(let options): return Check.run(options)
      }
    } catch {
      complain(error.message)
      return Status.usage
    }
  }

  /// Writes a line to stdout; false when it cannot be written.
  static func say(_ text: String) -> Bool {
    var rest = Array("\(text)\n".utf8)[...]
    while !rest.isEmpty {
      let count = rest.withUnsafeBytes { write(1, $0.baseAddress, $0.count) }
      if count < 0 && errno == EINTR { continue }
      guard count > 0 else { return false }
      rest = rest.dropFirst(count)
    }
    return true
  }

  /// The reason is the last line of stderr.
  static func complain(_ message: String) {
    let line = Array("outtray: \(message)\n".utf8)
    _ = write(2, line, line.count)
  }
}
