/// Entries that others have to let go: those they come after, and those before them in their lane.
extension Entry {
  /// What an entry waits for that is nobody's fault; never nothing.
  package struct Held: Sendable, Equatable {
    /// Entries that it comes after and that have not completed.
    package let unmet: Int64
    /// Another one is before it in its lane.
    package let isBehind: Bool

    /// nil when nothing holds it.
    package init?(unmet: Int64, isBehind: Bool) {
      guard unmet > 0 || isBehind else { return nil }
      self.unmet = unmet
      self.isBehind = isBehind
    }
  }

  /// A request with the values in the place of their names, as far as an entry has to know it before it is
  /// sent; the request itself stays as it was enqueued, which is what the same-id rules compare (D5).
  package struct Expansion: Sendable, Equatable {
    /// nil for parts, which have their own.
    package var url: RequestURL?
    /// Bytes of the body.
    package var length: Int64

    package init(url: RequestURL?, length: Int64) {
      self.url = url
      self.length = length
    }
  }

  /// Where one request goes, values in it; nil with parts that have no other.
  package var sentURL: RequestURL? { expansion?.url ?? request.url }

  /// Bytes of the body as it is sent; before the values for it are there, as it was enqueued.
  package var totalBytes: Int64 { expansion?.length ?? body.length }

  package var isHeld: Bool { held != nil }

  /// What holds it.
  package var held: Held? {
    switch state {
    case .held(let held): held
    case .queued, .running, .sending, .awaitingAuth, .settled: nil
    }
  }

  package var isCompleted: Bool {
    switch state {
    case .settled(.completed, _): true
    case .settled(.error, _), .settled(.cancelled, _), .queued, .held, .running, .sending, .awaitingAuth:
      false
    }
  }

  /// An entry that it comes after has completed.
  ///
  /// - Parameter expansion: When that was the last of them, and it takes values.
  package func met(expansion: Expansion? = nil, now: Moment) -> Decision {
    guard let held, held.unmet > 0 else { return .unchanged(self) }
    var entry = self
    entry.expansion = expansion
    return entry.letGo(Held(unmet: held.unmet - 1, isBehind: held.isBehind), now: now)
  }

  /// It is the first of its lane now.
  package func cameFirst(now: Moment) -> Decision {
    guard let held, held.isBehind else { return .unchanged(self) }
    return letGo(Held(unmet: held.unmet, isBehind: false), now: now)
  }

  /// Hosts are told when it is due; what it still waits for, `explain` says.
  private func letGo(_ held: Held?, now: Moment) -> Decision {
    var entry = self
    entry.updatedAt = now.wall
    guard let held else {
      entry.state = .queued(Wait(due: now.steady))
      return Decision(entry: entry, effects: [.state])
    }
    entry.state = .held(held)
    return Decision(entry: entry)
  }

  /// How those end that come after it and are to settle on failures; nil while it is live, and when it has
  /// completed.
  package var endOfSuccessors: Outcome.Settlement? {
    switch state {
    case .settled(let kind, _): .dependency(on: id, ended: kind)
    case .queued, .held, .running, .sending, .awaitingAuth: nil
    }
  }

  /// What it comes after will not complete, or did not answer with what it takes.
  package func failedBefore(
    _ settlement: Outcome.Settlement, now: Moment, randomness: any Randomness
  ) -> Decision {
    guard isLive else { return .unchanged(self) }
    var decision = settled(settlement, now: now, randomness: randomness)
    decision.effects = stopEffects + decision.effects
    return decision
  }
}

extension Decision {
  /// The same, for an entry that waits for others from now on: what was in flight of it is stopped, as when
  /// its key is paused. Nothing holds one that has settled.
  package func held(by held: Entry.Held?, now: Moment) -> Decision {
    guard let held, entry.isLive else { return self }
    var decision = self
    decision.effects = entry.stopEffects + effects
    decision.entry.parts?.stop(now: now)
    decision.entry.state = .held(held)
    return decision
  }

  /// The same, for an entry that ends at its acceptance: what was stopped of it stays so. Nothing ends one
  /// that has settled.
  package func failed(
    _ settlement: Outcome.Settlement, now: Moment, randomness: any Randomness
  ) -> Decision {
    guard entry.isLive else { return self }
    var decision = entry.failedBefore(settlement, now: now, randomness: randomness)
    decision.effects = effects.filter(\.stops) + decision.effects
    decision.releasesBody = releasesBody
    return decision
  }
}

extension Effect {
  fileprivate var stops: Bool {
    switch self {
    case .stop: true
    case .attempt, .progress, .state: false
    }
  }
}

extension Outcome.Settlement {
  /// How an entry that is to settle on failures ends when one that it comes after has ended so; nil when that
  /// is no failure (D45).
  package static func dependency(on id: EntryID, ended kind: Outcome.Kind) -> Outcome.Settlement? {
    switch kind {
    case .completed: nil
    case .error: .error(kind: .dependency, message: "\(id) ended with an error", response: nil)
    case .cancelled: .error(kind: .dependency, message: "\(id) was cancelled", response: nil)
    }
  }
}
