extension Gates {
  /// Where an entry stands for its host: its stored state, seen through pauses and header patches (D1).
  package func standing(of entry: Entry) -> Row.State {
    switch entry.state {
    case .settled(let kind, _): Row.State(kind)
    case .queued, .held: isPaused(entry) ? .paused : .queued
    case .running, .sending: isPaused(entry) ? .paused : .running
    case .awaitingAuth(let revision):
      isPaused(entry) ? .paused : isReleased(entry, parkedAt: revision) ? .queued : .awaitingAuth
    }
  }

  /// Queue time, ms, at which an entry is due: after its wait or, when that is earlier, upon the end of the
  /// outage that it failed in (D16); of parts in flight, when the next may go. An entry that a header patch
  /// let go is due since ever. nil for one that waits for credentials or for others, that runs, or that has
  /// settled. Pauses and Wi-Fi are asked for apart.
  package func dueTime(of entry: Entry) -> Int64? {
    switch entry.state {
    case .queued(let wait): return dueTime(of: wait, to: entry.origin)
    case .sending(let next): return next
    case .awaitingAuth(let revision): return isReleased(entry, parkedAt: revision) ? 0 : nil
    case .held, .running, .settled: return nil
    }
  }

  /// Queue time, ms, at which a wait for this origin ends.
  func dueTime(of wait: Entry.Wait, to origin: Origin?) -> Int64 {
    guard let outage = wait.outage, let origin,
      let woken = wakeTime(from: outage, of: origin, spread: wait.spread)
    else { return wait.due }
    return min(wait.due, woken)
  }

  private func isReleased(_ entry: Entry, parkedAt revision: Int64) -> Bool {
    coveringRevision(key: entry.key, origin: entry.origin) > revision
  }
}
