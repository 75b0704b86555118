import QueueModel
import QueueStore

/// An entry in few words.
extension StoredQueue {
  /// When it goes out next, or why it does not.
  func reason(_ row: Row, _ entry: Entry, isServed: Bool) throws(Failure) -> String {
    if let next = row.nextAttemptAt { return "next attempt in \(Amount.duration(ms: next - now.wall))" }
    switch row.state {
    case .running: return ""
    case .completed, .error, .cancelled:
      return try outcome(of: entry).map { OutcomeWords.of($0.outcome) } ?? ""
    case .queued, .awaitingAuth, .paused:
      if let gate = closedGates(for: entry).first { return gate.detail }
      return isServed ? "" : "nobody serves the queue"
    }
  }
}

/// An outcome in a few words, without what may hold a secret: no query, header or body.
enum OutcomeWords {
  static func of(_ outcome: Outcome) -> String {
    switch outcome.settlement {
    case .completed(let response): "\(response.status.map { "\($0), " } ?? "")not acknowledged"
    case .error(let kind, let message, let response):
      "\(kind.rawValue)\(response?.status.map { " \($0)" } ?? ""): \(Printable.text(message))"
    case .cancelled(let reason): "cancelled: \(Printable.text(reason)), not acknowledged"
    }
  }
}

extension Row.State {
  var colour: Colour? {
    switch self {
    case .running: .cyan
    case .queued: nil
    case .awaitingAuth, .paused: .yellow
    case .completed: .green
    case .error: .red
    case .cancelled: .faint
    }
  }
}
