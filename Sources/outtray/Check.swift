import AcceptanceCheck
import Console
import Glibc

/// `outtray check`: shows that outtray works on this machine.
enum Check {
  static let command = Command(
    "check", "show that outtray works on this machine",
    options: [
      Option(
        "url", "URL",
        "send to this server in place of the receiver; it should answer POST and PUT with 2xx. Stages "
          + "that need a server which fails on demand are not run, and what the server stored is known "
          + "only if its answer holds the SHA-256 in hex"),
      Option(
        "dir", "DIR", "make the temporary folder in DIR (default: TMPDIR, or /tmp)", kind: .directory),
      Option("keep", nil, "leave the temporary folder in place"),
      Option("json", nil, "print a JSON object for each stage, and one about the whole at the end"),
    ],
    about: """
      Uploads files of known size and SHA-256 in stages, by sidecars of its own, to a
      receiver that it runs on loopback: as plain body, as form, in parts; past a 500, a cut
      connection, a killed sidecar, a host that goes and comes back. Compares what arrived
      with what was sent and prints the evidence, a line for each stage. Takes some seconds,
      and minutes at most.
      """,
    examples: ["outtray check --url https://upload.example.com/files"],
    statuses: [(Status.no, "a stage that was run does not hold")],
    run: run)

  private static func run(_ arguments: Arguments, _ around: Surroundings) throws(Failure) -> Int32 {
    let fallback = getenv("TMPDIR").map { String(cString: $0) } ?? ""
    let directory = arguments.value("dir") ?? (fallback.isEmpty ? "/tmp" : fallback)
    guard !directory.isEmpty else { throw .usage("--dir: must not be empty") }
    var check = AcceptanceCheck(parent: directory)
    check.url = try url(of: arguments)
    check.keeps = arguments.has("keep")
    check.writesJSON = arguments.has("json")
    var deafness: Failure?
    let ending = check.run(version: CommandLineTool.version) { line in
      guard deafness == nil else { return }
      do throws(Failure) { try around.output.line(line) } catch { deafness = error }
    }
    switch ending {
    case .holds, .fails:
      if deafness != nil {
        throw Failure(Status.internalError, "the evidence could not be written to stdout")
      }
      return ending == .holds ? Status.success : Status.no
    case .unusable(let reason): throw Failure(Status.cannotCreate, reason)
    case .impossible(let reason): throw Failure(Status.internalError, reason)
    case .interrupted(let signal):
      around.remark(check.keeps ? "interrupted" : "interrupted; nothing is left behind")
      end(bySignal: signal)
    }
  }

  private static func url(of arguments: Arguments) throws(Failure) -> String? {
    guard let url = arguments.value("url") else { return nil }
    let scheme = ["http://", "https://"].first { url.lowercased().hasPrefix($0) }
    guard let scheme, url.count > scheme.count else { throw .usage("--url: must be a URL of http or https") }
    // Never printed, and the queue would refuse it in every stage.
    guard !url.dropFirst(scheme.count).prefix(while: { $0 != "/" }).contains("@") else {
      throw .usage("--url: must hold no user information")
    }
    return url
  }
}
