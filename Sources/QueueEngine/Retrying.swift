import QueueModel
import QueueStore

extension Turn {
  /// A retry by hand (D44).
  mutating func retry(_ id: EntryID, _ reply: @escaping Completion<Row>, _ writer: Writer)
    throws(StoreError)
  {
    guard let entry = try writer.entry(id: id) else {
      return refuse(reply, .invalid(InvalidInput(path: "id", message: "names no entry")))
    }
    let decision: Decision
    do throws(InvalidInput) {
      decision = try entry.retried(
        gates: state.gates, partsAtOnce: partsAtOnce, lifetimeMs: state.configuration.lifetimeMs, now: now,
        randomness: engine.randomness)
    } catch {
      return refuse(reply, .invalid(error))
    }
    mustSync()
    // Before the events of what follows.
    answer(reply, Row(state.shown(decision.entry), gates: state.gates, now: now))
    if !decision.effects.isEmpty { try apply(decision, from: entry, writer) }
  }
}
