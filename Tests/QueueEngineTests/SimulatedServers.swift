import QueueModel

@testable import QueueEngine

/// Servers of known capacity behind the engine: each works on so many requests at once, lets so many wait in
/// a row, and refuses what comes beyond with 429. Time is the harness's manual clock, so nothing depends on
/// the machine.
final class SimulatedServers {
  struct Server {
    /// Requests that it works on at once.
    var capacity: Int
    /// Requests that wait beyond them before it refuses.
    var room = 1000
    /// What one takes, ms; each time a tenth more or less.
    var workMs: Int64 = 100
    var mood = Mood.well

    enum Mood {
      case well
      /// It takes requests and never answers.
      case hangs
      /// 500 at once.
      case fails
      /// 429 to everything, with this Retry-After.
      case refuses(seconds: Int)
    }
  }

  private struct Request {
    var attempt: AttemptID
    var origin: Origin
    var arrivedAt: Int64
    /// nil while it waits for its turn.
    var endsAt: Int64?
    var status = 200
  }

  var servers: [Origin: Server] = [:]
  private let harness: Harness
  private let randomness: SeededRandomness
  private var requests: [Request] = []
  private var seen = 0
  /// Answers by origin and status.
  private(set) var answered: [Origin: [Int: Int]] = [:]
  /// When an attempt reached a server, by the entry's number.
  private(set) var arrivedAt: [Int64: Int64] = [:]
  /// The most that were with one server at once.
  private(set) var peak: [Origin: Int] = [:]

  init(_ harness: Harness, seed: UInt64) {
    self.harness = harness
    randomness = SeededRandomness(seed: seed)
  }

  private var now: Int64 { harness.clock.now().steady }

  /// Plays until the clock has moved by so many ms, or `isOver`.
  func play(_ milliseconds: Int64, until isOver: () -> Bool = { false }) {
    let end = now + milliseconds
    take()
    while !isOver() {
      let next = [requests.compactMap(\.endsAt).min(), harness.engine.deadline().steady].compactMap(\.self)
        .min()
      guard let next, next <= end else { break }
      harness.clock.advance(max(0, next - now))
      answerDue()
      harness.send(.tick)
      take()
    }
    harness.clock.advance(max(0, end - now))
  }

  /// Takes what the transport was told to send since, and forgets what was stopped.
  private func take() {
    let stopped = Set(harness.transport.stopped)
    requests.removeAll { stopped.contains($0.attempt) }
    let started = harness.transport.started
    for transmission in started[seen...] {
      arrive(transmission.attempt, at: transmission.url.origin)
    }
    seen = started.count
  }

  private func arrive(_ attempt: AttemptID, at origin: Origin) {
    guard let server = servers[origin] else { preconditionFailure("no server at \(origin.text)") }
    arrivedAt[attempt.entry] = now
    var request = Request(attempt: attempt, origin: origin, arrivedAt: now)
    let present = requests.filter { $0.origin == origin }
    switch server.mood {
    case .hangs: break
    case .fails: (request.status, request.endsAt) = (500, now + 1)
    case .refuses: (request.status, request.endsAt) = (429, now + 1)
    case .well:
      let working = present.count { $0.status == 200 && $0.endsAt != nil }
      let waiting = present.count { $0.endsAt == nil }
      if working < server.capacity {
        request.endsAt = now + work(server)
      } else if waiting >= server.room {
        (request.status, request.endsAt) = (429, now + 1)
      }
    }
    requests.append(request)
    peak[origin] = max(peak[origin] ?? 0, present.count + 1)
  }

  private func work(_ server: Server) -> Int64 {
    max(1, server.workMs * Int64(90 + randomness.below(21)) / 100)
  }

  private func answerDue() {
    for request in requests where request.endsAt.map({ $0 <= now }) ?? false {
      requests.removeAll { $0.attempt == request.attempt }
      answered[request.origin, default: [:]][request.status, default: 0] += 1
      harness.transport.finish(request.attempt, result(of: request))
      if request.status == 200 { beginNext(at: request.origin) }
    }
  }

  private func result(of request: Request) -> AttemptResult {
    var result = AttemptResult.answer(request.status)
    if case .refuses(let seconds) = servers[request.origin]?.mood {
      result.answer?.headers = [("retry-after", String(seconds))]
    }
    result.answeredAfterMs = now - request.arrivedAt
    return result
  }

  private func beginNext(at origin: Origin) {
    guard let server = servers[origin],
      let first = requests.firstIndex(where: { $0.origin == origin && $0.endsAt == nil })
    else { return }
    requests[first].endsAt = now + work(server)
  }

  /// Answers of 200.
  func completed(_ origin: Origin) -> Int { answered[origin]?[200] ?? 0 }
}
