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
    var decision: Decision
    do throws(InvalidInput) {
      decision = try entry.retried(
        gates: state.gates, partsAtOnce: partsAtOnce, lifetimeMs: state.configuration.lifetimeMs, now: now,
        randomness: engine.randomness)
    } catch {
      return refuse(reply, .invalid(error))
    }
    if decision.entry.generation != entry.generation {
      switch try link(decision, of: entry, writer) {
      case .success(let linked): decision = linked
      case .failure(let refused): return refuse(reply, .invalid(refused.input))
      }
    }
    mustSync()
    if let origin = entry.origin { state.slots.tryNow(origin, at: now.steady) }
    // Before the events of what follows.
    answer(reply, Row(state.shown(decision.entry), gates: state.gates, now: now))
    if !decision.effects.isEmpty { try apply(decision, from: entry, writer) }
  }

  /// What runs again comes after the same others, and last in its lane (D45, D47).
  private mutating func link(
    _ decision: Decision, of entry: Entry, _ writer: Writer
  ) throws(StoreError) -> Result<Decision, LinkPlanner.Refused> {
    let request = entry.request.with(parts: try writer.storedParts(of: entry) ?? [])
    var enqueue = Enqueue(id: entry.id, key: entry.key, vars: entry.vars, request: request)
    enqueue.dependencies = try writer.dependencies(of: entry.number)
    enqueue.lane = entry.lane
    let admission = Admission(enqueue: enqueue, rule: .reopen, existing: entry)
    var planner = LinkPlanner([admission], writer)
    switch try planner.plan() {
    case .success(let plans): return .success(try link(decision, admission, by: plans[0], writer))
    case .failure(let refused):
      var refused = refused
      refused.input = InvalidInput(
        path: "id",
        message: "cannot run again as it was enqueued: \(refused.input.path) \(refused.input.message)")
      return .failure(refused)
    }
  }
}
