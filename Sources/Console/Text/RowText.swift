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
      return try outcome(of: entry).map { "\(OpenEvent.words(of: $0.event)), not acknowledged" } ?? ""
    case .queued, .awaitingAuth, .paused:
      if let gate = try closedGates(for: entry).first { return gate.detail }
      return isServed ? "" : "nobody serves the queue"
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
