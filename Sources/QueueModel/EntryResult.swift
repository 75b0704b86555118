extension Entry {
  /// The transport reported a result. nil when it changes nothing: of an attempt that is not in flight, only
  /// an accepted result counts, as long as no newer attempt of the generation has begun and the entry is
  /// live.
  ///
  /// - Parameter policy: Of configure; the entry's own goes over it.
  package func finished(
    _ attempt: AttemptID, _ result: AttemptResult, policy: RetryPolicy, gates: Gates, now: Moment,
    randomness: any Randomness
  ) -> Decision? {
    guard isLive, attempt.entry == number, attempt.generation == generation, attempt.ordinal == attempts,
      let requestID = lastRequestID
    else { return nil }
    let policy = policy.overlaid(with: request.retry)
    let verdict = judge(result, accept: request.accept, policy: policy, failures: failures)
    var entry = self
    entry.bytesSent = min(max(result.bytesSent, 0), totalBytes)
    entry.updatedAt = now.wall
    let report = Report(attempt: attempt, requestID: requestID, result: result, now: now)
    switch (verdict, state) {
    case (.accepted, _):
      return entry.completed(report, isTruncated: false, randomness)
    case (.acceptedThoughUnusable, _):
      return entry.completed(report, isTruncated: true, randomness)
    case (.needsCredentials, .running(let flight)):
      return entry.refusedCredentials(report, flight, gates)
    case (.transient(let kind, let message, let rule, let beforeRequest, let followAtOnce), .running):
      if now.wall >= deadline && !gates.isPaused(self) {
        return entry.expiredAfter(report, kind, message, randomness)
      }
      entry.failures.count(result, rule: rule, followAtOnce: followAtOnce)
      let outage = beforeRequest ? origin.flatMap(gates.openOutage) : nil
      entry.state = .queued(
        followAtOnce
          ? Wait(due: now.steady)
          : entry.failures.wait(policy.backoff, after: result.answer, outage: outage, now, randomness))
      return entry.reported(report, .error(kind, message: message))
    case (.terminal(let kind, let message), .running):
      return entry.failed(report, kind, message, randomness)
    // Stopped by us, and not accepted.
    case (.needsCredentials, _), (.transient, _), (.terminal, _): return nil
    }
  }

  /// One attempt and what came of it.
  private struct Report {
    var attempt: AttemptID
    var requestID: String
    var result: AttemptResult
    var now: Moment
  }

  /// The attempt event and the new state, for an entry that goes on.
  private func reported(_ report: Report, _ outcome: AttemptEvent.Result) -> Decision {
    Decision(entry: self, effects: [.attempt(event(of: report, outcome)), .state])
  }

  private func event(of report: Report, _ outcome: AttemptEvent.Result) -> AttemptEvent {
    AttemptEvent(
      of: self, report.attempt, url: sentURL, requestID: report.requestID, result: outcome,
      answer: report.result.answer, at: report.now.wall)
  }

  /// Order on a settle: progress, attempt, state (protocol.md section 3).
  private func settled(
    _ report: Report, _ settlement: Outcome.Settlement, _ outcome: AttemptEvent.Result,
    _ randomness: any Randomness
  ) -> Decision {
    var decision = settled(settlement, now: report.now, randomness: randomness)
    decision.effects =
      [.progress(bytesSent: decision.entry.bytesSent), .attempt(event(of: report, outcome))]
      + decision.effects
    return decision
  }

  private func completed(_ report: Report, isTruncated: Bool, _ randomness: any Randomness) -> Decision {
    var response = report.result.answer.map { ResponseRecord($0) } ?? ResponseRecord(status: nil)
    response.bodyTruncated = response.bodyTruncated || isTruncated
    return settled(report, .completed(response), .completed, randomness)
  }

  private func failed(
    _ report: Report, _ kind: ErrorKind, _ message: String, _ randomness: any Randomness
  ) -> Decision {
    let response = report.result.answer.map { ResponseRecord($0) }
    return settled(
      report, .error(kind: kind, message: message, response: response), .error(kind, message: message),
      randomness)
  }

  /// Expiry turns only a transient result into `expired` (D4); the attempt event tells what it was.
  private func expiredAfter(
    _ report: Report, _ kind: ErrorKind, _ message: String, _ randomness: any Randomness
  ) -> Decision {
    let response = kind == .http ? report.result.answer.map { ResponseRecord($0) } : nil
    return settled(
      report, .error(kind: .expired, message: "\(expiryMessage); last: \(message)", response: response),
      .error(kind, message: message), randomness)
  }

  /// Sent again at once when the headers are newer than those of the attempt (D7), else parked.
  private func refusedCredentials(_ report: Report, _ flight: Attempt, _ gates: Gates) -> Decision {
    var entry = self
    entry.failures.forgetRow()
    entry.state =
      flight.headerRevision < gates.revision(for: self)
      ? .queued(Wait(due: report.now.steady)) : .awaitingAuth(revision: flight.headerRevision)
    let message = report.result.answer?.statusMessage ?? "credentials were refused"
    return entry.reported(report, .error(.http, message: message))
  }
}
