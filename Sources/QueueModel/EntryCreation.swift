extension Entry {
  /// A new entry, due now.
  ///
  /// - Parameter lifetimeMs: Distance of the default `expiresAt`.
  package static func created(
    number: Int64, from enqueue: Enqueue, body: StagedBody, gates: Gates, lifetimeMs: Int64, now: Moment,
    randomness: any Randomness
  ) -> Decision {
    Decision(
      entry: Entry(
        number: number, id: enqueue.id, key: enqueue.key, vars: enqueue.vars, generation: 1,
        request: enqueue.request, body: body, parts: Parts(planOf: enqueue.request.body, since: 1),
        idempotencyKey: enqueue.request.freshIdempotencyKey(randomness),
        headerRevision: enqueue.headerRevision ?? gates.headerRevision,
        expiresAt: enqueue.expiresAt(lifetimeMs: lifetimeMs, now: now), state: .queued(Wait(due: now.steady)),
        createdAt: now.wall, updatedAt: now.wall, host: enqueue.host, lane: enqueue.lane,
        group: enqueue.group, weight: enqueue.weight, deadlineMs: enqueue.deadlineMs),
      effects: [.state])
  }

  /// The same body was enqueued again for a live entry: its metadata is replaced, a wait ends, a wait for
  /// credentials too; attempts and rule counts go on (B211, B212, B222), and so do accepted parts. What is in
  /// flight goes on as well, unless the new key is paused (D6), or it reads a file that the caller may delete
  /// from now on.
  ///
  /// - Parameters:
  ///   - body: The same body, staged anew, in place of one that is the caller's own file (D28).
  ///   - partsAtOnce: Of configure.
  package func resumed(
    by enqueue: Enqueue, body: StagedBody? = nil, gates: Gates, partsAtOnce: Int, lifetimeMs: Int64,
    now: Moment
  ) -> Decision {
    var entry = self
    entry.take(enqueue, gates: gates, lifetimeMs: lifetimeMs, now: now)
    if let body { entry.body = body }
    let mustStop = gates.isPaused(entry) || body.map { $0.place != .reference } ?? false
    entry.parts?.endWaits(now: now)
    switch state {
    case .settled: return .unchanged(self)
    case .queued, .held, .awaitingAuth:
      entry.state = .queued(Wait(due: now.steady))
      entry.failures.streak = 0
      return Decision(entry: entry, effects: [.state])
    case .sending:
      if mustStop { return entry.stopped(now: now) }
      // Whether the headers of a part differ is not looked at: one refused too many goes out again at once.
      entry.parts?.outdateHeaders()
      entry.arrange(gates: gates, partsAtOnce: partsAtOnce, now: now)
      return Decision(entry: entry, effects: [.state])
    case .running(var attempt):
      if mustStop { return entry.stopped(now: now) }
      // What was current stays so only if the attempt sent what would be sent now.
      let isCurrent = attempt.headerRevision >= gates.revision(for: self)
      let isSame = gates.headers(for: entry) == gates.headers(for: self)
      attempt.headerRevision =
        isCurrent && isSame ? max(attempt.headerRevision, gates.revision(for: entry)) : Attempt.outdated
      entry.state = .running(attempt)
      return Decision(entry: entry, effects: [.state])
    }
  }

  /// Another body takes the place of the old one; the entry runs as a new generation. Not while it is
  /// running.
  ///
  /// - Parameter body: The new one; nil keeps the one that the entry owns, since its source is gone (D28).
  package func replaced(
    by enqueue: Enqueue, body: StagedBody?, gates: Gates, lifetimeMs: Int64, now: Moment,
    randomness: any Randomness
  ) -> Decision {
    if isInFlight { return .unchanged(self) }
    var entry = self
    entry.beginGeneration(now: now)
    entry.take(enqueue, gates: gates, lifetimeMs: lifetimeMs, now: now)
    entry.body = body ?? self.body
    entry.body.kind = enqueue.request.body.kind
    entry.parts = Parts(planOf: enqueue.request.body, since: entry.generation)
    entry.idempotencyKey = enqueue.request.freshIdempotencyKey(randomness)
    return Decision(entry: entry, effects: [.state], releasesBody: body != nil)
  }

  /// The same body was enqueued again after an error: it runs as a new generation and settles once more.
  /// Parts that are accepted stay so; when late answers have accepted all of them, it is completed (B271).
  ///
  /// - Parameter body: As for `resumed`.
  package func reopened(
    by enqueue: Enqueue, body: StagedBody? = nil, gates: Gates, lifetimeMs: Int64, now: Moment,
    randomness: any Randomness
  ) -> Decision {
    guard case .settled(.error, _) = state else { return .unchanged(self) }
    var entry = self
    entry.beginGeneration(now: now)
    entry.take(enqueue, gates: gates, lifetimeMs: lifetimeMs, now: now)
    if let body { entry.body = body }
    return entry.resent(now: now, randomness: randomness)
  }

  /// A settled entry runs once more as it stands.
  func reopened(now: Moment, randomness: any Randomness) -> Decision {
    var entry = self
    entry.beginGeneration(now: now)
    return entry.resent(now: now, randomness: randomness)
  }

  /// A generation that has begun with the body of the one before.
  private func resent(now: Moment, randomness: any Randomness) -> Decision {
    var entry = self
    // An answer had spent the old one; after any other end the same key tells the server that it is the same
    // request.
    entry.idempotencyKey = idempotencyKey ?? request.freshIdempotencyKey(randomness)
    guard let parts = entry.parts else { return Decision(entry: entry, effects: [.state]) }
    entry.bytesSent = parts.acceptedBytes
    entry.parts?.reopen(now: now)
    guard parts.isComplete else { return Decision(entry: entry, effects: [.state]) }
    return entry.settled(
      .completed(ResponseRecord(status: nil)), partIndex: parts.latest.index, now: now,
      randomness: randomness)
  }

  /// Everything that is not part of the body's identity (D5).
  private mutating func take(_ enqueue: Enqueue, gates: Gates, lifetimeMs: Int64, now: Moment) {
    key = enqueue.key
    lane = enqueue.lane
    expansion = nil
    host = enqueue.host
    vars = enqueue.vars
    request = enqueue.request
    headerRevision = enqueue.headerRevision ?? gates.headerRevision
    if group != enqueue.group { groupDeadline = nil }
    group = enqueue.group
    weight = enqueue.weight
    deadlineMs = enqueue.deadlineMs
    expiresAt = enqueue.expiresAt(lifetimeMs: lifetimeMs, now: now)
    limitExpiry()
    updatedAt = now.wall
  }

  private mutating func beginGeneration(now: Moment) {
    generation += 1
    attempts = 0
    failures = FailureCounts()
    bytesSent = 0
    lastRequestID = nil
    firstAttemptAt = nil
    kept = nil
    state = .queued(Wait(due: now.steady))
  }
}
