import QueueModel
import QueueStore

/// Due work out, results in.
extension Turn {
  /// Rows settled or started in one turn beyond which the next turn goes on.
  private static let batch = 64

  /// Settles what has passed its deadline (D4): never a running entry, never a paused one.
  mutating func settleExpired(_ writer: Writer) throws(StoreError) {
    guard !state.gates.paused else { return }
    for entry in try writer.expiring(at: now.wall, notOf: state.gates.pausedKeys, limit: Turn.batch) {
      try apply(entry.expired(now: now, randomness: engine.randomness), from: entry, writer)
    }
  }

  /// Fills free slots with due work (D25).
  mutating func startDue(_ writer: Writer) throws(StoreError) {
    state.hasDueLeft = false
    state.lookedAt = now.steady
    guard !state.gates.paused else { return }
    for _ in 0..<Turn.batch {
      guard state.slots.hasRoom else { return }
      var next: [Descriptor.Priority: Entry] = [:]
      for priority in Descriptor.Priority.allCases { next[priority] = try firstDue(priority, writer) }
      guard
        let priority = state.slots.next(highDue: next[.high] != nil, normalDue: next[.normal] != nil),
        let entry = next[priority]
      else { return }
      if now.wall >= entry.expiresAt {
        try apply(entry.expired(now: now, randomness: engine.randomness), from: entry, writer)
      } else {
        try start(entry, writer)
      }
    }
    state.hasDueLeft = true
  }

  private func firstDue(_ priority: Descriptor.Priority, _ writer: Writer) throws(StoreError) -> Entry? {
    for bucket in try writer.dueBuckets(priority, at: now.steady, where: isOpen) {
      let covering = state.gates.coveringRevision(key: bucket.key, origin: bucket.origin)
      let ended = state.gates.outages[bucket.origin].flatMap { outage in
        outage.endedAt.map { (outage.number, Gates.spread(reachedAt: now.steady, endedAt: $0)) }
      }
      if let entry = try writer.firstDue(in: bucket, at: now.steady, releasedBefore: covering, woken: ended) {
        return entry
      }
    }
    return nil
  }

  /// Gates close buckets, never single entries.
  func isOpen(_ bucket: Bucket) -> Bool {
    guard !state.gates.isPaused(bucket.key), !state.gates.holdsForWifi(bucket.wifiOnly),
      !state.slots.isFull(bucket.origin)
    else { return false }
    // During an outage of an origin one attempt at a time probes (D16).
    return !state.gates.hasOutage(bucket.origin) || state.slots.running(to: bucket.origin) == 0
  }

  private mutating func start(_ entry: Entry, _ writer: Writer) throws(StoreError) {
    let requestID = engine.randomness.uuid()
    let decision = entry.started(requestID: requestID, gates: state.gates, now: now)
    try writer.markServed(entry)
    try apply(decision, from: entry, writer)
    let transmission = decision.entry.transmission(
      gates: state.gates, timeouts: state.configuration.timeouts,
      outgoing: try writer.outgoing(decision.entry))
    state.flights[transmission.attempt] = Flight(
      id: entry.id, key: entry.key, origin: transmission.url.origin, priority: entry.request.priority,
      startedAt: now.steady, totalBytes: entry.body.length)
    state.slots.took(entry.request.priority, origin: transmission.url.origin)
    state.counters.attemptsStarted += 1
    then(.start(transmission))
  }

  mutating func report(_ attempt: AttemptID, _ report: TransportReport, _ writer: Writer) throws(StoreError) {
    switch report {
    case .progress(let bytesSent): progress(attempt, bytesSent)
    case .finished(let result): try finished(attempt, result, writer)
    }
  }

  /// The entry with what its attempt has sent so far, which only memory knows.
  func shown(_ entry: Entry) -> Entry {
    guard let attempt = entry.attemptInFlight, let flight = state.flights[attempt] else { return entry }
    var entry = entry
    entry.bytesSent = flight.progress.bytesSent
    return entry
  }

  private mutating func progress(_ attempt: AttemptID, _ bytesSent: Int64) {
    guard var flight = state.flights[attempt] else { return }
    if flight.progress.note(bytesSent, at: now.steady) { tellProgress(of: flight) }
    state.flights[attempt] = flight
  }

  /// Tells the values that were held back and whose interval has passed.
  mutating func tellHeldBackProgress() throws(StoreError) {
    for (attempt, flight) in state.flights {
      guard let due = flight.progress.due, due <= now.steady else { continue }
      state.flights[attempt]?.progress.told(at: now.steady)
      tellProgress(of: flight)
    }
  }

  private mutating func tellProgress(of flight: Flight) {
    tell(
      .progress, about: flight.key,
      .progress(id: flight.id, bytesSent: flight.progress.bytesSent, totalBytes: flight.totalBytes))
  }

  private mutating func finished(_ attempt: AttemptID, _ result: AttemptResult, _ writer: Writer)
    throws(StoreError)
  {
    let flight = state.flights[attempt]
    land(attempt)
    state.counters.bytesSent += result.bytesSent
    state.counters.bytesReceived += result.bytesReceived
    if let flight { try noteReach(of: flight, result, writer) }
    guard let entry = try writer.entry(number: attempt.entry) else { return }
    let policy = state.configuration.retry.overlaid(with: entry.request.retry)
    guard
      let decision = entry.finished(
        attempt, result, policy: policy, gates: state.gates, now: now, randomness: engine.randomness)
    else { return }
    if case .settled(.completed, _) = decision.entry.state {
      state.counters.attemptsCompleted += 1
    } else {
      state.counters.attemptsFailed += 1
    }
    try apply(decision, from: entry, writer)
  }

  /// What the result says of the origin, where it changes whether there is an outage (D16).
  private mutating func noteReach(of flight: Flight, _ result: AttemptResult, _ writer: Writer)
    throws(StoreError)
  {
    let next = Outage.after(
      result.reach, begunAt: flight.startedAt, lastReachedBy: state.reachedAt(flight.origin),
      current: state.gates.outages[flight.origin], now: now)
    if result.reach == .reached { state.noteReached(flight.origin, by: flight.startedAt) }
    guard let next else { return }
    state.gates.outages[flight.origin] = next
    try writer.save(next, of: flight.origin)
    mustSync()
  }
}
