extension Entry {
  /// Somebody asks for it to be tried now (D44). What waits is due now; what is parked goes out once more
  /// with the headers that there are; what settled with an error reopens as by the same body. What is in
  /// flight or due is left alone. Nothing is enqueued, so everything that the host gave stays, the connection
  /// too.
  ///
  /// - Parameter partsAtOnce: Of configure.
  /// - Throws: what settled otherwise cannot be sent again; names `id`.
  package func retried(
    gates: Gates, partsAtOnce: Int, lifetimeMs: Int64, now: Moment, randomness: any Randomness
  ) throws(InvalidInput) -> Decision {
    switch state {
    // What others hold is not for a person to let go.
    case .running, .held: return .unchanged(self)
    case .sending:
      guard now.wall < expiresAt, hasWaitingPart(gates: gates, now: now) else { return .unchanged(self) }
      var entry = waitingNoMore(lifetimeMs: lifetimeMs, now: now)
      entry.arrange(gates: gates, partsAtOnce: partsAtOnce, now: now)
      return Decision(entry: entry, effects: [.state])
    case .queued, .awaitingAuth:
      let isDue = gates.dueTime(of: self).map { $0 <= now.steady } ?? false
      if isDue, now.wall < expiresAt, !hasWaitingPart(gates: gates, now: now) { return .unchanged(self) }
      var entry = waitingNoMore(lifetimeMs: lifetimeMs, now: now)
      entry.state = .queued(Wait(due: now.steady))
      return Decision(entry: entry, effects: [.state])
    case .settled(.error, _):
      if body.isLetGo { throw InvalidInput(path: "id", message: "has no body any more; enqueue it again") }
      var entry = self
      entry.renew(lifetimeMs: lifetimeMs, now: now)
      return entry.reopened(now: now, randomness: randomness)
    case .settled(.completed, _):
      throw InvalidInput(path: "id", message: "is completed; to send it again, enqueue it under another id")
    case .settled(.cancelled, _):
      throw InvalidInput(path: "id", message: "is cancelled and its body let go of; enqueue it again")
    }
  }

  /// Whether a part of it waits though the entry as a whole does not.
  private func hasWaitingPart(gates: Gates, now: Moment) -> Bool {
    (parts?.open ?? []).contains { part in
      if case .waiting(let wait) = part.state {
        gates.dueTime(of: wait, to: origin) > now.steady
      } else {
        false
      }
    }
  }

  private func waitingNoMore(lifetimeMs: Int64, now: Moment) -> Entry {
    var entry = self
    entry.parts?.endWaits(now: now)
    entry.failures.streak = 0
    entry.renew(lifetimeMs: lifetimeMs, now: now)
    return entry
  }

  /// The deadline is that of an enqueue now, but one that has passed is no deadline: whoever retries an
  /// expired upload wants it sent.
  private mutating func renew(lifetimeMs: Int64, now: Moment) {
    let given = request.expiresAt.flatMap { $0 > now.wall ? $0 : nil }
    expiresAt = given ?? now.wall(afterLifetime: lifetimeMs)
    // Its next attempt is the first again (D49).
    firstAttemptAt = nil
    updatedAt = now.wall
  }
}
