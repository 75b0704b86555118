/// What an attempt's result means (D11).
package enum Verdict: Sendable, Equatable {
  case accepted
  /// Accepted, though its answer cannot be had whole: asking again would repeat what the server has done
  /// (D12).
  case acceptedThoughUnusable
  case needsCredentials
  /// To be tried again.
  ///
  /// - `kind`: for the attempt event; `http` when the answer's status says so.
  /// - `rule`: the transient rule that excuses it, and counts it.
  /// - `beforeRequest`: no byte of the request was sent (D16).
  /// - `followAtOnce`: a reused connection had died; the next attempt does not wait (D18).
  case transient(
    kind: ErrorKind, message: String, rule: TransientRule?, beforeRequest: Bool, followAtOnce: Bool)
  case terminal(ErrorKind, message: String)
}

/// Judges the result of one attempt, in the order of D11.
///
/// - Parameter failures: What was counted before this result.
package func judge(
  _ result: AttemptResult, accept: [AcceptRule], policy: RetryPolicy, failures: FailureCounts
) -> Verdict {
  switch result.failure?.cause {
  case .bodyMissing, .bodyChanged: return .terminal(.file, message: result.failureMessage)
  case .bodyUnreadable where result.answer == nil: return .tryAgain(.file, result.failureMessage)
  case .bodyUnreadable, .beforeRequest, .afterRequestBegan, nil: break
  }
  guard let answer = result.answer else { return result.withoutAnswer(failures) }
  if answer.isSuccess { return result.success(answer, failures) }
  if let verdict = answer.acceptance(by: accept) { return verdict }
  switch answer.status {
  case 401, 403: return .needsCredentials
  case 407: return .tryAgain(.network, "the proxy wants credentials (HTTP 407)")
  case 408, 429, 500...599: return .tryAgain(.http, answer.statusMessage)
  case 400...499: return answer.clientError(policy, failures)
  default:
    // A redirect that was refused says why (A-REDIR-06).
    let reason = result.failure.map { ": \($0.message)" } ?? ""
    return .terminal(.http, message: answer.statusMessage + reason)
  }
}

extension Verdict {
  fileprivate static func tryAgain(_ kind: ErrorKind, _ message: String, rule: TransientRule? = nil)
    -> Verdict
  {
    .transient(kind: kind, message: message, rule: rule, beforeRequest: false, followAtOnce: false)
  }
}

extension AttemptResult {
  /// A 2xx whose answer was cut after the request had gone out whole; five of them in a row count (D12).
  var isCutSuccess: Bool {
    guard let answer else { return false }
    return answer.isSuccess && requestWentWhole && answer.completeness == .cut
  }

  fileprivate var failureMessage: String {
    failure?.message ?? "the connection ended without an answer"
  }

  fileprivate func withoutAnswer(_ failures: FailureCounts) -> Verdict {
    let beforeRequest = failure?.cause == .beforeRequest
    let diedIdle = connectionWasReused && bytesReceived == 0 && !beforeRequest
    return .transient(
      kind: .network, message: failureMessage, rule: nil, beforeRequest: beforeRequest,
      followAtOnce: diedIdle && !failures.followedReuse)
  }

  /// A status does not make a transfer whole (D12).
  fileprivate func success(_ answer: Answer, _ failures: FailureCounts) -> Verdict {
    guard requestWentWhole else {
      return .tryAgain(.network, "\(answer.statusMessage) came before the request was sent whole")
    }
    switch answer.completeness {
    case .whole, .capped: return .accepted
    case .unusable: return .acceptedThoughUnusable
    case .cut:
      if failures.cutAnswers + 1 >= Bounds.cutAnswers { return .acceptedThoughUnusable }
      return .tryAgain(.network, "the answer (\(answer.statusMessage)) was cut: \(failureMessage)")
    }
  }
}

extension Answer {
  fileprivate var isSuccess: Bool { (200...299).contains(status) }

  var statusMessage: String { "HTTP \(status)" }

  fileprivate enum Match {
    case yes, no
    /// The text may have been in what was cut off.
    case unknown
  }

  fileprivate func match(status: Int, bodyIncludes text: String?) -> Match {
    guard status == self.status else { return .no }
    guard let text, !includes(text) else { return .yes }
    return completeness == .cut ? .unknown : .no
  }

  /// Whether the kept body holds the text, byte for byte.
  private func includes(_ text: String) -> Bool {
    let wanted = Array(text.utf8)
    guard let first = wanted.first else { return true }
    guard body.count >= wanted.count else { return false }
    let last = body.count - wanted.count
    var at = 0
    while let found = body[at...last].firstIndex(of: first) {
      if body[found..<(found + wanted.count)].elementsEqual(wanted) { return true }
      at = found + 1
      if at > last { return false }
    }
    return false
  }

  /// nil when no rule has to do with the answer.
  fileprivate func acceptance(by rules: [AcceptRule]) -> Verdict? {
    let matches = rules.map { match(status: $0.status, bodyIncludes: $0.bodyIncludes) }
    if matches.contains(.yes) { return .accepted }
    return matches.contains(.unknown) ? cutBeforeText : nil
  }

  /// A status of 400 to 499 that has no meaning of its own.
  fileprivate func clientError(_ policy: RetryPolicy, _ failures: FailureCounts) -> Verdict {
    for rule in policy.transient {
      switch match(status: rule.status, bodyIncludes: rule.bodyIncludes) {
      case .no: continue
      case .unknown: return cutBeforeText
      case .yes:
        // A rule past its cap is terminal; it does not fall back to `exempt`.
        guard failures.count(of: rule) < rule.maxRetries ?? .max else {
          return .terminal(.http, message: statusMessage)
        }
        return .tryAgain(.http, statusMessage, rule: rule)
      }
    }
    return policy.exempt.contains(status)
      ? .tryAgain(.http, statusMessage) : .terminal(.http, message: statusMessage)
  }

  private var cutBeforeText: Verdict {
    .tryAgain(.network, "the answer (\(statusMessage)) was cut before the text of a rule was found in it")
  }
}
