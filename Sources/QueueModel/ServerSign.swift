/// What the result of an attempt says of how its server does (D51, D52).
package enum ServerSign: Sendable, Equatable {
  /// It did what it was asked, so many ms after it had been asked.
  case well(afterMs: Int64?)
  /// 429: it wants less.
  case busy(retryAfterMs: Int64?)
  /// 503: it wants less, or is away.
  case overloaded(retryAfterMs: Int64?)
  /// It answered that it cannot, or did not answer.
  case failing(retryAfterMs: Int64?)
  /// Nothing.
  case none

  /// With a Retry-After of so many ms at most.
  package func capped(at maxMs: Int64) -> ServerSign {
    switch self {
    case .well, .none: self
    case .busy(let wait): .busy(retryAfterMs: wait.map { min($0, maxMs) })
    case .overloaded(let wait): .overloaded(retryAfterMs: wait.map { min($0, maxMs) })
    case .failing(let wait): .failing(retryAfterMs: wait.map { min($0, maxMs) })
    }
  }
}

extension AttemptResult {
  /// - Parameter wall: Wall clock, ms, which dates in Retry-After are compared with.
  package func sign(at wall: Int64) -> ServerSign {
    switch failure?.cause {
    // An outage has its own rule (D16).
    case .beforeRequest, .bodyMissing, .bodyChanged, .bodyUnreadable: return .none
    case .afterRequestBegan, nil: break
    }
    guard let answer else {
      // The server had closed an idle connection.
      return connectionWasReused && bytesReceived == 0 ? .none : .failing(retryAfterMs: nil)
    }
    let retryAfter = answer.header("retry-after").flatMap { RetryAfter.milliseconds($0, now: wall) }
    switch answer.status {
    case 407: return .none
    case 429: return .busy(retryAfterMs: retryAfter)
    case 503: return .overloaded(retryAfterMs: retryAfter)
    case 408, 500...599: return .failing(retryAfterMs: retryAfter)
    default: break
    }
    return answer.completeness == .cut ? .failing(retryAfterMs: nil) : .well(afterMs: answeredAfterMs)
  }
}
