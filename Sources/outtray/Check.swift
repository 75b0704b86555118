import AcceptanceCheck
import Glibc

/// `outtray check`: shows that outtray works on this machine.
enum Check {
  struct Options {
    var url: String?
    /// Where the temporary folder is made; nil is TMPDIR, or /tmp.
    var directory: String?
    var keeps = false
    var writesJSON = false
  }

  static let usage = """
    usage: outtray check [--url URL] [--dir DIR] [--keep] [--json]

    Uploads files of known size and SHA-256 in stages, by sidecars of its own, to a receiver that it
    runs on loopback: as plain body, as form, in parts; past a 500, a cut connection, a killed sidecar,
    a host that goes and comes back. Compares what arrived with what was sent and prints the evidence,
    a line for each stage. Takes some seconds, and minutes at most.

      --url URL    send to this server in place of the receiver; it should answer POST and PUT with 2xx.
                   Stages that need a server which fails on demand are not run, and what the server
                   stored is known only if its answer holds the SHA-256 in hex
      --dir DIR    make the temporary folder in DIR (default: TMPDIR, or /tmp)
      --keep       leave the temporary folder in place
      --json       print a JSON object for each stage, and one about the whole at the end

    exit status: 0 every stage that was run holds; 1 one does not; 64 usage; 70 the check could not be made;
    73 the directory cannot be used
    """

  static func run(_ options: Options) -> Int32 {
    let fallback = getenv("TMPDIR").map { String(cString: $0) } ?? ""
    var check = AcceptanceCheck(parent: options.directory ?? (fallback.isEmpty ? "/tmp" : fallback))
    check.url = options.url
    check.keeps = options.keeps
    check.writesJSON = options.writesJSON
    var isHeard = true
    let ending = check.run(version: CommandLineTool.version) { line in
      if isHeard { isHeard = CommandLineTool.say(line) }
    }
    switch ending {
    case .holds, .fails:
      guard isHeard else {
        CommandLineTool.complain("the evidence could not be written to stdout")
        return CommandLineTool.Status.internalError
      }
      return ending == .holds ? 0 : CommandLineTool.Status.failed
    case .unusable(let reason):
      CommandLineTool.complain(reason)
      return CommandLineTool.Status.cannotCreate
    case .impossible(let reason):
      CommandLineTool.complain(reason)
      return CommandLineTool.Status.internalError
    case .interrupted(let signal):
      CommandLineTool.complain(options.keeps ? "interrupted" : "interrupted; nothing is left behind")
      end(by: signal)
    }
  }

  /// Ends as if the signal had not been caught, so that a shell sees what happened.
  private static func end(by number: Int32) -> Never {
    signal(number, SIG_DFL)
    var signals = sigset_t()
    sigemptyset(&signals)
    sigaddset(&signals, number)
    raise(number)
    pthread_sigmask(SIG_UNBLOCK, &signals, nil)
    _exit(128 + number)
  }
}
