import Glibc
import JSONText
import OuttrayProtocol

/// What one stage works with: a queue of its own, a sample, a server, and the evidence so far.
final class Bench {
  enum Server {
    case receiver(Receiver)
    /// A URL that takes POST and PUT.
    case given(String)
  }

  /// How long things may take.
  struct Bounds {
    /// Each wait of a stage, ms.
    var patience: Int64
    /// After which the queue gives an entry up, ms from its enqueue.
    var lifetime: Int64

    static let receiver = Bounds(patience: 30_000, lifetime: 25_000)
    /// A server that is far away may need longer for a transfer; one that fails should soon be seen to.
    static let given = Bounds(patience: 120_000, lifetime: 3_000)
  }

  static let path = "/check"
  private static let id = "check"

  let server: Server
  var evidence: Evidence
  private let program: String
  private let folder: String
  private let watch: Watch
  private var hosts: [Host] = []

  init(_ stage: String, server: Server, program: String, folder: String, watch: Watch) {
    self.server = server
    self.program = program
    self.folder = folder
    self.watch = watch
    evidence = Evidence(stage: stage)
  }

  private var bounds: Bounds {
    switch server {
    case .receiver: .receiver
    case .given: .given
    }
  }

  // MARK: What a stage does

  /// The file of this stage.
  func sample(of size: Int) throws(Setback) -> Sample {
    let sample = try Sample(at: folder + "/sample", size: size, seed: UInt64(size))
    evidence.size = size
    evidence.sha256 = sample.sha256
    return sample
  }

  /// What happens to the requests of this stage, one after the other; gives their URL. A given server does
  /// what it does.
  func serve(_ steps: [Receiver.Step], _ path: String = Bench.path) -> String {
    switch server {
    case .receiver(let receiver): receiver.serve(path, steps)
    case .given(let url): url
    }
  }

  /// A host with a new process on the queue of this stage.
  func start() throws(Setback) -> Host {
    let host = try Host(
      program, directory: folder + "/queue", log: folder + "/sidecar.log", on: watch,
      patience: bounds.patience)
    hosts.append(host)
    try host.call(.initialize) {
      $0.member("protocolVersion", 1)
      $0.member("client") {
        $0.object {
          $0.member("name", "outtray-check"); $0.member("version", "")
        }
      }
    }
    try host.call(.configure) { [server] params in
      switch server {
      // The environment's proxy knows nothing of our loopback.
      case .receiver: params.member("proxy", "")
      case .given:
        params.member("timeouts") { timeouts in
          timeouts.object {
            for name in ["connectMs", "stallMs", "responseMs"] { $0.member(name, 10_000) }
          }
        }
      }
    }
    try host.call(.subscribe) { params in
      params.member("events") { list in
        list.array { for name in [EventName.state, .attempt, .settled] { $0.value(name.rawValue) } }
      }
    }
    return host
  }

  /// Enqueues a request whose body `body` writes; the answer says that all of it is on disk.
  func enqueue(_ url: String, on host: Host, _ body: (inout JSONWriter) -> Void) throws(Setback) {
    let expiresAt = Bench.wallTime() + bounds.lifetime
    try host.call(.enqueue) { params in
      params.member("id", Bench.id)
      params.member("key", "check")
      params.member("request") { request in
        request.object { request in
          request.member("url", url)
          request.member("expiresAt", expiresAt)
          request.member("retry") { retry in
            retry.object { retry in
              retry.member("backoff") { backoff in
                backoff.object {
                  $0.member("baseMs", 50)
                  $0.member("maxMs", 500)
                  $0.member("jitter", 0)
                }
              }
            }
          }
          body(&request)
        }
      }
    }
  }

  /// Waits until the server has half of the body; of a given server it is only known that the attempt began.
  func waitForHalf(of sample: Sample, on host: Host) throws(Setback) {
    switch server {
    case .receiver(let receiver):
      try host.wait(for: "half of the file at the receiver") {
        (receiver.requests(Bench.path).last?.count ?? 0) >= sample.size / 2
      }
    case .given:
      try host.wait(for: "the begin of an attempt") {
        host.states.contains { $0["state"]?.string == "running" }
      }
    }
  }

  /// The newest outcome, which has to be `completed`.
  func outcome(on host: Host) throws(Setback) -> JSON {
    try host.wait(for: "the outcome") { !host.outcomes.isEmpty }
    guard let outcome = host.outcomes.last else { return .null }
    evidence.attempts = outcome["attempts"]?.integer
    noteAttempts(outcome)
    guard outcome["kind"]?.string == "completed", let response = outcome["response"] else {
      let error = outcome["error"] ?? .null
      throw .unmet("settled as \(error["errorKind"]?.string ?? "?"): \(error["message"]?.string ?? "")")
    }
    guard response["bodyTruncated"]?.bool == false else {
      throw .unmet("the answer was cut, or longer than can be kept; whether it was whole nobody knows")
    }
    return outcome
  }

  /// Acknowledges the outcome and leaves; the queue has to be empty then.
  func end(_ host: Host, _ outcome: JSON) throws(Setback) {
    try host.call(.ackEvents) { params in
      params.member("eventIds") { $0.array { $0.value(outcome["eventId"]?.string ?? "") } }
    }
    let left = try host.call(.getRequests)["requests"]?.elements().reduce(0) { count, _ in count + 1 }
    guard left == 0 else { throw .unmet("the queue still holds the entry after it was acknowledged") }
    try host.leave()
  }

  /// Notes what the attempts came to, whether or not there is an outcome.
  func noteAttempts(_ outcome: JSON? = nil) {
    let attempts = hosts.flatMap(\.attempts)
    evidence.statuses = attempts.compactMap { $0["httpCode"]?.integer }
    evidence.transportErrors = attempts.filter { $0["httpCode"] == nil }.map {
      Evidence.TransportError(
        kind: $0["errorKind"]?.string ?? "?", message: $0["errorMessage"]?.string ?? "")
    }
    // The last attempt may have ended before this host could hear of it.
    let final = outcome?["response"] ?? outcome?["error"]?["response"]
    if let last = final?["status"]?.integer, evidence.statuses.last != last { evidence.statuses.append(last) }
  }

  func conclude(_ verdict: Evidence.Verdict, milliseconds: Int64) -> Evidence {
    if evidence.attempts == nil { noteAttempts() }
    evidence.verdict = verdict
    evidence.milliseconds = milliseconds
    return evidence
  }

  private static func wallTime() -> Int64 {
    var time = timespec()
    clock_gettime(CLOCK_REALTIME, &time)
    return Int64(time.tv_sec) * 1000 + Int64(time.tv_nsec) / 1_000_000
  }
}
