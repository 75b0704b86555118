/// Where an entry in parts stands. As large as what goes out at once, never as large as the plan: the
/// requests themselves lie in the store.
package struct Parts: Sendable, Equatable {
  /// Of the plan.
  package var count: Int
  /// Parts below this index were begun: they are accepted or open.
  package var begun: Int
  package var accepted: Int
  package var acceptedBytes: Int64
  /// Begun and not accepted, by index. Each holds one of the entry's slots, in flight or not (B262).
  package var open: [Part]
  /// The part that the last start or result was about, or that waits for its origin; the first one before
  /// that. Its origin is the one that the entry's gates look at, its URL the one that the outcome tells.
  package var latest: Latest
  /// The generation that the plan came with; results of older ones are about other bytes.
  package var since: Int64

  package struct Latest: Sendable, Equatable {
    package var index: Int
    package var url: RequestURL

    package init(index: Int, url: RequestURL) {
      self.index = index
      self.url = url
    }
  }

  package init(
    count: Int, begun: Int, accepted: Int, acceptedBytes: Int64, open: [Part], latest: Latest, since: Int64
  ) {
    self.count = count
    self.begun = begun
    self.accepted = accepted
    self.acceptedBytes = acceptedBytes
    self.open = open
    self.latest = latest
    self.since = since
  }

  /// None of the plan is begun. nil for a body that is not sent in parts.
  init?(planOf body: BodyDescription, since generation: Int64) {
    guard case .parts(_, let plan) = body, let first = plan.first else { return nil }
    self.init(
      count: plan.count, begun: 0, accepted: 0, acceptedBytes: 0, open: [],
      latest: Latest(index: 0, url: first.url), since: generation)
  }
}

/// A part that was begun and is not accepted.
package struct Part: Sendable, Equatable {
  package var index: Int
  package var state: State
  /// Its newest attempt, in flight or not.
  package var attempt: Entry.Attempt
  /// The generation of that attempt.
  package var generation: Int64
  package var failures: FailureCounts

  package enum State: Sendable, Equatable {
    case waiting(Entry.Wait)
    case inFlight
  }

  package init(
    index: Int, state: State, attempt: Entry.Attempt, generation: Int64,
    failures: FailureCounts = FailureCounts()
  ) {
    self.index = index
    self.state = state
    self.attempt = attempt
    self.generation = generation
    self.failures = failures
  }
}

extension Parts {
  var isComplete: Bool { accepted == count }

  package var hasInFlight: Bool { inFlightCount > 0 }

  private var inFlightCount: Int { open.count { $0.state == .inFlight } }

  func position(of index: Int) -> Int? { open.firstIndex { $0.index == index } }

  /// The part that can go next and when, queue time in ms: what was begun before what was not; nil while only
  /// results can bring one. Parts that wait out a failure keep their slots, so a new one needs a free one
  /// (B262); of more than fit since `atOnce` became less, no more go than fit.
  ///
  /// - Parameters:
  ///   - steady: Now, queue time in ms.
  ///   - due: When a wait ends.
  func next(at steady: Int64, atOnce: Int, due: (Entry.Wait) -> Int64) -> (index: Int, due: Int64)? {
    guard inFlightCount < atOnce else { return nil }
    var next: (index: Int, due: Int64)?
    for part in open {
      guard case .waiting(let wait) = part.state else { continue }
      let due = due(wait)
      if next.map({ due < $0.due }) ?? true { next = (part.index, due) }
    }
    guard open.count < atOnce, begun < count else { return next }
    // An entry that was begun goes on before others of its bucket, hence due since ever.
    if let next, next.due <= steady { return (next.index, 0) }
    return (begun, 0)
  }

  /// How the entry waits while nothing of it is in flight; it is in a backoff when every part is that could
  /// go.
  func wait(at steady: Int64, atOnce: Int, due: (Entry.Wait) -> Int64) -> Entry.Wait? {
    guard let next = next(at: steady, atOnce: atOnce, due: due) else { return nil }
    let waits = open.compactMap { part -> Entry.Wait? in
      if case .waiting(let wait) = part.state { wait } else { nil }
    }
    var wait = Entry.Wait(
      due: next.due, isBackoff: waits.contains { $0.isBackoff && due($0) == next.due && next.due > 0 })
    let newest = waits.compactMap(\.outage).max()
    if let newest, wait.isBackoff {
      wait.outage = newest
      wait.spread = waits.filter { $0.outage == newest }.map(\.spread).min() ?? 0
    }
    return wait
  }

  mutating func begin(_ attempt: Entry.Attempt, _ index: Int, generation: Int64) {
    if let position = position(of: index) {
      open[position].state = .inFlight
      open[position].attempt = attempt
      open[position].generation = generation
    } else {
      open.append(Part(index: index, state: .inFlight, attempt: attempt, generation: generation))
      open.sort { $0.index < $1.index }
      begun = max(begun, index + 1)
    }
  }

  mutating func accept(_ index: Int, bytes: Int64) {
    open.removeAll { $0.index == index }
    accepted += 1
    acceptedBytes += bytes
  }

  /// Nothing is in flight any more; what was may go again at once.
  mutating func stop(now: Moment) {
    for position in open.indices where open[position].state == .inFlight {
      open[position].state = .waiting(Entry.Wait(due: now.steady))
    }
  }

  /// Waits end, and failures in a row are forgotten.
  mutating func endWaits(now: Moment) {
    for position in open.indices {
      open[position].failures.streak = 0
      guard open[position].state != .inFlight else { continue }
      open[position].state = .waiting(Entry.Wait(due: now.steady))
    }
  }

  /// What is in flight carries headers that are not the newest any more (D7).
  mutating func outdateHeaders() {
    for position in open.indices where open[position].state == .inFlight {
      open[position].attempt.headerRevision = Entry.Attempt.outdated
    }
  }

  /// A new generation of the same plan: what is accepted stays so, nothing else is remembered.
  mutating func reopen(now: Moment) {
    stop(now: now)
    endWaits(now: now)
    for position in open.indices { open[position].failures = FailureCounts() }
  }
}
