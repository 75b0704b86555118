extension Entry {
  /// `cancel` of a live entry; its body is let go of.
  ///
  /// `bytesSent` of an attempt in flight is what the caller has set it to.
  package func cancelled(now: Moment, randomness: any Randomness) -> Decision {
    guard isLive else { return .unchanged(self) }
    var decision = settled(.cancelled(reason: "user"), now: now, randomness: randomness)
    decision.entry.body.place = .none
    decision.releasesBody = true
    if isInFlight {
      decision.effects = stopEffects + [.progress(bytesSent: bytesSent)] + decision.effects
    }
    return decision
  }

  /// The deadline has come (D4): the entry settles, unless it is in flight; then no more of its parts go out.
  /// The caller does not ask for a paused one.
  package func expired(now: Moment, randomness: any Randomness) -> Decision {
    switch state {
    case .running, .settled: return .unchanged(self)
    case .sending:
      guard now.wall >= deadline else { return .unchanged(self) }
      var entry = self
      entry.state = .sending(next: nil)
      return Decision(entry: entry)
    case .queued, .held, .awaitingAuth:
      guard now.wall >= deadline else { return .unchanged(self) }
      return settled(
        .error(kind: .expired, message: expiryMessage, response: nil), now: now, randomness: randomness)
    }
  }

  /// The end of a settle cycle: one outcome, told after the state. Nothing is in flight after it.
  ///
  /// - Parameter partIndex: Of the part that decided.
  func settled(
    _ settlement: Outcome.Settlement, partIndex: Int? = nil, now: Moment, randomness: any Randomness
  ) -> Decision {
    var entry = self
    entry.parts?.stop(now: now)
    let eventID = randomness.uuid()
    entry.state = .settled(settlement.kind, eventID: eventID)
    entry.updatedAt = now.wall
    switch settlement {
    case .completed: entry.bytesSent = totalBytes
    case .error(.http, _, _): entry.idempotencyKey = nil
    case .error, .cancelled: break
    }
    let outcome = Outcome(
      eventID: eventID, entry: number, id: id, key: key, vars: vars, at: now.wall, generation: generation,
      attempts: attempts, requestID: lastRequestID, bytesSent: entry.bytesSent, totalBytes: totalBytes,
      url: (parts?.latest.url ?? sentURL)?.text ?? "", method: request.method, partIndex: partIndex,
      settlement: settlement, host: host, lane: lane, group: group)
    return Decision(entry: entry, outcome: outcome, effects: [.state])
  }

  /// Whether the acknowledgement of this outcome forgets the entry: not after an error, and not when the
  /// entry has gone on since (B188, B220).
  package func isForgotten(byEvent acknowledged: String) -> Bool {
    switch state {
    case .settled(.completed, let eventID), .settled(.cancelled, let eventID):
      eventID == acknowledged
    case .settled(.error, _), .queued, .held, .running, .sending, .awaitingAuth: false
    }
  }
}
