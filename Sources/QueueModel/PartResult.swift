extension Entry {
  /// The transport reported what came of a part. nil when it changes nothing: of an attempt that is not in
  /// flight, only an accepted result counts, as long as the plan is the same and no newer attempt of the part
  /// has begun. It counts in whatever state the entry is, cancelled apart; after an error nobody is told.
  ///
  /// - Parameters:
  ///   - part: The request of that part.
  ///   - policy: Of configure; the entry's own goes over it.
  ///   - partsAtOnce: Of configure.
  package func finished(
    _ attempt: AttemptID, _ result: AttemptResult, part: PartRequest, policy: RetryPolicy, gates: Gates,
    partsAtOnce: Int, now: Moment, randomness: any Randomness
  ) -> Decision? {
    guard attempt.entry == number, let index = attempt.part, let parts,
      let position = parts.position(of: index),
      case let open = parts.open[position], attempt.generation == open.generation,
      attempt.generation >= parts.since, attempt.ordinal == open.attempt.ordinal
    else { return nil }
    let policy = policy.overlaid(with: request.retry)
    let verdict = judge(result, accept: request.accept, policy: policy, failures: open.failures)
    let report = PartReport(attempt: attempt, index: index, open: open, part: part, result: result, now: now)
    var entry = self
    // The part that was refused stays the latest: a patch for its origin lets the entry go, whatever else is
    // accepted late.
    if !isParked { entry.parts?.latest = Parts.Latest(index: index, url: part.url) }
    entry.updatedAt = now.wall
    func goingOn(_ outcome: AttemptEvent.Result) -> Decision {
      entry.arrange(gates: gates, partsAtOnce: partsAtOnce, now: now)
      let isTransition = !isInFlight || !entry.isInFlight
      return Decision(
        entry: entry, effects: [report.event(of: entry, outcome)] + (isTransition ? [.state] : []))
    }
    switch verdict {
    case .accepted, .acceptedThoughUnusable:
      return entry.accepted(report, isTruncated: verdict == .acceptedThoughUnusable, randomness) {
        entry = $0
        return goingOn(.completed)
      }
    // Stopped by us, and not accepted.
    case _ where open.state != .inFlight: return nil
    case .needsCredentials:
      if open.attempt.headerRevision >= gates.revision(for: entry) { return entry.parked(report) }
      entry.parts?.open[position].failures.forgetRow()
      entry.parts?.open[position].state = .waiting(Wait(due: now.steady))
      return goingOn(.error(.http, message: report.statusMessage))
    case .transient(let kind, let message, let rule, let beforeRequest, let followAtOnce):
      if now.wall >= deadline && !gates.isPaused(self) && attemptsInFlight.count == 1 {
        return entry.expiredAfter(report, kind, message, randomness)
      }
      var failures = open.failures
      failures.count(result, rule: rule, followAtOnce: followAtOnce)
      let outage = beforeRequest ? gates.openOutage(of: part.url.origin) : nil
      entry.parts?.open[position].failures = failures
      entry.parts?.open[position].state = .waiting(
        followAtOnce
          ? Wait(due: now.steady)
          : failures.wait(policy.backoff, after: result.answer, outage: outage, now, randomness))
      return goingOn(.error(kind, message: message))
    case .terminal(let kind, let message): return entry.failed(report, kind, message, randomness)
    }
  }

  /// The store cannot tell what the part was to be: the entry cannot go on.
  package func damaged(part index: Int, now: Moment, randomness: any Randomness) -> Decision {
    guard isLive else { return .unchanged(self) }
    let message = "part \(index) cannot be read from the database"
    var decision = settled(
      .error(kind: .unknown, message: message, response: nil), partIndex: index, now: now,
      randomness: randomness)
    decision.effects = stopEffects + decision.effects
    return decision
  }

  private func accepted(
    _ report: PartReport, isTruncated: Bool, _ randomness: any Randomness, else goOn: (Entry) -> Decision
  ) -> Decision? {
    var entry = self
    entry.parts?.accept(report.index, bytes: Int64(report.part.range.count))
    let acceptedBytes = entry.parts?.acceptedBytes ?? 0
    switch state {
    case .settled(.error, _):
      entry.bytesSent = acceptedBytes
      return Decision(entry: entry)
    case .settled: return nil
    case .queued, .held, .running, .sending, .awaitingAuth:
      entry.bytesSent = acceptedBytes
      guard entry.parts?.isComplete == true else { return goOn(entry) }
      entry.lastRequestID = report.open.attempt.requestID
      // Each part had an answer of its own, so the whole has none (B279).
      var response = ResponseRecord(status: nil)
      response.bodyTruncated = isTruncated
      return entry.settled(report, .completed(response), .completed, randomness)
    }
  }

  /// Credentials were refused: all of it waits for newer ones (B265).
  private func parked(_ report: PartReport) -> Decision {
    var entry = self
    if let position = parts?.position(of: report.index) {
      entry.parts?.open[position].failures.forgetRow()
      entry.parts?.open[position].state = .waiting(Wait(due: report.now.steady))
    }
    let stops = entry.stopEffects
    entry.parts?.stop(now: report.now)
    entry.state = .awaitingAuth(revision: report.open.attempt.headerRevision)
    let event = report.event(of: entry, .error(.http, message: report.statusMessage))
    return Decision(entry: entry, effects: stops + [event, .state])
  }

  /// A part ended all of it (B257).
  private func failed(
    _ report: PartReport, _ kind: ErrorKind, _ message: String, _ randomness: any Randomness
  ) -> Decision {
    let response = report.result.answer.map { ResponseRecord($0) }
    return settled(
      report, .error(kind: kind, message: "\(message) on part \(report.index)", response: response),
      .error(kind, message: message), randomness)
  }

  /// As for an entry that is one request (D4).
  private func expiredAfter(
    _ report: PartReport, _ kind: ErrorKind, _ message: String, _ randomness: any Randomness
  ) -> Decision {
    let response = kind == .http ? report.result.answer.map { ResponseRecord($0) } : nil
    let expired = "\(expiryMessage); last: \(message) on part \(report.index)"
    return settled(
      report, .error(kind: .expired, message: expired, response: response), .error(kind, message: message),
      randomness)
  }

  /// Order on a settle: progress, attempt, state (protocol.md section 3). A failed one shows what was
  /// accepted, not what was under way (B272).
  private func settled(
    _ report: PartReport, _ settlement: Outcome.Settlement, _ outcome: AttemptEvent.Result,
    _ randomness: any Randomness
  ) -> Decision {
    var entry = self
    if let position = parts?.position(of: report.index) {
      entry.parts?.open[position].state = .waiting(Wait(due: report.now.steady))
    }
    entry.lastRequestID = report.open.attempt.requestID
    let stops = entry.stopEffects
    var decision = entry.settled(
      settlement, partIndex: report.index, now: report.now, randomness: randomness)
    decision.effects =
      stops + [.progress(bytesSent: decision.entry.bytesSent), report.event(of: self, outcome)]
      + decision.effects
    return decision
  }
}

/// One attempt of a part and what came of it.
private struct PartReport {
  var attempt: AttemptID
  var index: Int
  var open: Part
  var part: PartRequest
  var result: AttemptResult
  var now: Moment

  var statusMessage: String { result.answer?.statusMessage ?? "credentials were refused" }

  func event(of entry: Entry, _ outcome: AttemptEvent.Result) -> Effect {
    .attempt(
      AttemptEvent(
        of: entry, attempt, url: part.url, requestID: open.attempt.requestID, result: outcome,
        answer: result.answer, at: now.wall))
  }
}
