import Glibc

/// The command line: `outtray serve --dir DIR`.
enum CommandLineTool {
  /// Exit statuses, after sysexits.h.
  enum Status {
    static let usage: Int32 = 64
    static let internalError: Int32 = 70
    static let cannotCreate: Int32 = 73
    static let temporaryFailure: Int32 = 75
  }

  static let version = "0.1.0"

  static let usage = """
    usage: outtray serve --dir DIR [--max-line BYTES] [--on-disconnect WHAT] [--no-parent-watch]
           outtray --version | --help

    serve   owns the queue in DIR and speaks JSON-RPC 2.0, one object a line, on stdin and stdout; beside a
            process that owns it already, it reaches the queue through that one

      --dir DIR           the queue's directory; made when it is not there
      --max-line BYTES    longest line that is read (default 67108864)
      --on-disconnect exit | drain | stay:SECONDS
                          when the last host is gone: stop transfers, keep all state, exit (the default);
                          or go on until nothing is left to send; or that, but at most so long
      --no-parent-watch   do not end when the parent process has ended

    exit status: 0; 64 usage; 70 internal; 73 the directory cannot be used; 75 it is locked
    """

  static func run(_ arguments: [String]) -> Int32 {
    // libcurl converts international host names by the locale; this one is built into the C library (D33).
    setlocale(LC_CTYPE, "C.UTF-8")
    do throws(Options.Problem) {
      switch try Options.read(arguments) {
      case .help:
        print(usage)
        return 0
      case .version:
        print("outtray \(version)")
        return 0
      case .serve(let options):
        return Serve.run(options)
      }
    } catch {
      complain(error.message)
      return Status.usage
    }
  }

  /// The reason is the last line of stderr.
  static func complain(_ message: String) {
    let line = Array("outtray: \(message)\n".utf8)
    _ = write(2, line, line.count)
  }
}
