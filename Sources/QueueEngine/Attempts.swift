import QueueModel
import QueueStore

/// Due work out, results in.
extension Turn {
  /// Rows settled or started in one turn beyond which the next turn goes on.
  private static let batch = 64

  /// Settles what has passed its deadline (D4): never a running entry, never a paused one.
  mutating func settleExpired(_ writer: Writer) throws(StoreError) {
    guard !state.gates.paused else { return }
    try expire(try writer.expiring(at: now.wall, limit: Turn.batch, where: state.mayExpire), writer)
  }

  mutating func expire(_ entries: [Entry], _ writer: Writer) throws(StoreError) {
    for found in entries {
      let entry = current(found)
      try apply(entry.expired(now: now, randomness: engine.randomness), from: entry, writer)
    }
  }

  /// Fills free slots with due work (D25).
  mutating func startDue(_ writer: Writer) throws(StoreError) {
    state.hasDueLeft = false
    state.lookedAt = now.steady
    state.noteQuiet(at: now.steady)
    guard !state.gates.paused else { return }
    // What begins makes nothing else due, so that a priority without due work is asked about once.
    var idle: Set<Descriptor.Priority> = []
    for _ in 0..<Turn.batch {
      guard state.slots.hasRoom else { return }
      let inFlight = state.flights.count
      var next: [Descriptor.Priority: Entry] = [:]
      for priority in Descriptor.Priority.allCases where !idle.contains(priority) {
        next[priority] = try firstDue(priority, writer)
        if next[priority] == nil { idle.insert(priority) }
      }
      guard
        let priority = state.slots.next(highDue: next[.high] != nil, normalDue: next[.normal] != nil),
        let entry = next[priority]
      else { return }
      if now.wall >= entry.deadline {
        try apply(entry.expired(now: now, randomness: engine.randomness), from: entry, writer)
      } else {
        try start(entry, writer)
      }
      if state.flights.count == inFlight { idle = [] }
    }
    state.hasDueLeft = true
  }

  private func firstDue(_ priority: Descriptor.Priority, _ writer: Writer) throws(StoreError) -> Entry? {
    let due = try writer.dueBuckets(priority, at: now.steady) { state.isOpen($0, at: now.steady) }
    for bucket in state.fewestFirst(due) {
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

  private mutating func start(_ entry: Entry, _ writer: Writer) throws(StoreError) {
    guard entry.parts == nil else { return try startPart(of: entry, writer) }
    let decision = entry.started(requestID: engine.randomness.uuid(), gates: state.gates, now: now)
    switch try expanded(decision.entry, writer) {
    case .failure(let failure):
      // Was found right when the values were taken: they cannot be read any more.
      try fail(entry, failure.settlement, writer)
    case .success(let (sent, outgoing)):
      try writer.markServed(entry)
      try apply(decision, from: entry, writer)
      fly(
        decision.entry,
        sent.transmission(
          gates: state.gates, timeouts: state.configuration.timeouts, outgoing: outgoing))
    }
  }

  /// The attempt goes to the transport.
  mutating func fly(_ entry: Entry, _ transmission: Transmission) {
    let origin = transmission.url.origin
    let load = state.slots.took(entry.request.priority, transmission.attempt, to: origin, at: now.steady)
    state.flights[transmission.attempt] = Flight(
      id: entry.id, key: entry.key, group: entry.group, origin: origin, priority: entry.request.priority,
      load: load, movedAt: now.steady)
    if state.sendings[entry.number] == nil {
      state.sendings[entry.number] = Sending(
        id: entry.id, key: entry.key, group: entry.group, weight: entry.weightInGroup,
        totalBytes: entry.totalBytes, storedBytes: entry.bytesSent,
        acceptedBytes: entry.parts?.acceptedBytes ?? 0)
    }
    state.counters.attemptsStarted += 1
    log(.debug, LogLine(begins: transmission, of: entry))
    then(.start(transmission))
  }

  /// Nothing is in flight any more: entries that were go back into the queue.
  mutating func takeBackRunning(_ writer: Writer) throws(StoreError) {
    for entry in try writer.running() { try apply(entry.orphaned(now: now), from: entry, writer) }
  }

  mutating func report(_ attempt: AttemptID, _ report: TransportReport, _ writer: Writer) throws(StoreError) {
    switch report {
    case .progress(let bytesSent): progress(attempt, bytesSent)
    case .finished(let result): try finished(attempt, result, writer)
    }
  }

  private mutating func progress(_ attempt: AttemptID, _ bytesSent: Int64) {
    guard let flight = state.flights[attempt], bytesSent > flight.bytesSent,
      var sending = state.sendings[attempt.entry]
    else { return }
    state.flights[attempt]?.bytesSent = bytesSent
    state.noteMoved(attempt, at: now.steady)
    sending.bytesInFlight += bytesSent - flight.bytesSent
    if sending.throttle.note(sending.bytesSent, at: now.steady) { tellProgress(of: sending) }
    state.sendings[attempt.entry] = sending
    if let group = sending.group { groupsToTell.insert(group) }
  }

  /// Tells the values that were held back and whose interval has passed.
  mutating func tellHeldBackProgress() throws(StoreError) {
    for (number, sending) in state.sendings {
      guard let due = sending.throttle.due, due <= now.steady else { continue }
      state.sendings[number]?.throttle.told(at: now.steady)
      tellProgress(of: sending)
    }
  }

  private mutating func tellProgress(of sending: Sending) {
    tell(
      .progress, about: sending.key,
      .progress(id: sending.id, bytesSent: sending.bytesSent, totalBytes: sending.totalBytes))
  }

  private mutating func finished(_ attempt: AttemptID, _ result: AttemptResult, _ writer: Writer)
    throws(StoreError)
  {
    let flight = state.flights[attempt]
    let found = try writer.entry(number: attempt.entry)
    if let flight { learn(from: flight, result, of: found) }
    land(attempt)
    state.counters.bytesSent += result.bytesSent
    state.counters.bytesReceived += result.bytesReceived
    if let flight { try noteReach(of: flight, result, writer) }
    guard let entry = found else {
      state.sendings[attempt.entry] = nil
      return
    }
    guard let decision = try decision(on: attempt, result, entry, writer) else { return }
    count(decision.effects)
    try apply(decision, from: entry, writer)
  }

  private func decision(
    on attempt: AttemptID, _ result: AttemptResult, _ entry: Entry, _ writer: Writer
  ) throws(StoreError) -> Decision? {
    let policy = state.configuration.retry
    guard let index = attempt.part else {
      return entry.finished(
        attempt, result, policy: policy, gates: state.gates, now: now, randomness: engine.randomness)
    }
    let part = try partRequest(of: entry, at: index, writer)
    if case .success(let part?) = part {
      return entry.finished(
        attempt, result, part: part, policy: policy, gates: state.gates, partsAtOnce: partsAtOnce, now: now,
        randomness: engine.randomness)
    }
    // Late, and about a plan that is gone.
    guard entry.attemptsInFlight.contains(attempt) else { return nil }
    guard case .failure(let failure) = part else {
      return entry.damaged(part: index, now: now, randomness: engine.randomness)
    }
    return entry.failedBefore(failure.settlement, now: now, randomness: engine.randomness)
  }

  /// Counts the attempts that were told of.
  private mutating func count(_ effects: [QueueModel.Effect]) {
    for effect in effects {
      guard case .attempt(let event) = effect else { continue }
      switch event.result {
      case .completed: state.counters.attemptsCompleted += 1
      case .error: state.counters.attemptsFailed += 1
      }
    }
  }

  /// What the result says of the origin, where it changes whether there is an outage (D16).
  private mutating func noteReach(of flight: Flight, _ result: AttemptResult, _ writer: Writer)
    throws(StoreError)
  {
    let next = Outage.after(
      result.reach, begunAt: flight.load.begunAt, lastReachedBy: state.reachedAt(flight.origin),
      current: state.gates.outages[flight.origin], now: now)
    if result.reach == .reached { state.noteReached(flight.origin, by: flight.load.begunAt) }
    guard let next else { return }
    state.gates.outages[flight.origin] = next
    try writer.save(next, of: flight.origin)
    mustSync()
    if next.endedAt != nil { try rearrangeSending(writer) }
  }
}

extension EngineState {
  /// What is paused does not expire (D4).
  func mayExpire(_ bucket: Bucket) -> Bool {
    !bucket.isPaused(by: gates) && !splitting.contains(bucket.number)
  }

  /// Gates close buckets, never single entries.
  func isOpen(_ bucket: Bucket, at steady: Int64) -> Bool {
    mayExpire(bucket) && !gates.holdsForWifi(bucket.wifiOnly)
      && takesMore(bucket.origin, bucket.priority, at: steady)
  }
}
