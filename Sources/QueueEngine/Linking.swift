import QueueModel
import QueueStore

/// Acceptance of entries that wait for others (D45 to D47).
extension Turn {
  /// Writes what the plan says, before any entry of the call is written, and has the entry wait, or end, as
  /// it must.
  mutating func link(
    _ decision: Decision, _ admission: Admission, by plan: LinkPlan, _ writer: Writer
  ) throws(StoreError) -> Decision {
    var decision = decision
    let number = decision.entry.number
    if !plan.edges.isEmpty || !plan.before.isEmpty {
      try writer.put(plan.edges, settles: plan.settlesOnFailure, plan.bindings, of: number)
      let named = Set(plan.edges.map(\.predecessor))
      for edge in plan.before where !named.contains(edge.predecessor) {
        try noteIfUnneeded(edge.predecessor, writer)
      }
    }
    let isBehind = try takePlace(of: decision.entry, plan.place, writer)
    var failure = plan.failure
    if failure == nil, !plan.bindings.isEmpty, plan.unmet == 0 {
      let stored = admission.staged == nil ? try writer.storedData(of: admission.existing) : nil
      let template = BodyTemplate(admission.enqueue.request.body, stored: stored)
      do throws(BindingFailure) {
        decision.entry.expansion = try decision.entry.expansion(
          of: template, with: BoundValues(plan.bindings))
      } catch {
        failure = error.settlement
      }
    }
    guard let failure else {
      return decision.held(by: Entry.Held(unmet: plan.unmet, isBehind: isBehind), now: now)
    }
    return decision.failed(failure, now: now, randomness: engine.randomness)
  }

  /// Keeps the place of the entry in its lane, or gives it the last one; whether others are before it.
  private mutating func takePlace(
    of entry: Entry, _ place: Lane?, _ writer: Writer
  ) throws(StoreError) -> Bool {
    if let place, place != entry.lane {
      try writer.leaveLane(entry.number)
      try goOn(place, writer)
    }
    guard let lane = entry.lane, entry.isLive else { return false }
    if place != lane { try writer.join(lane, entry.number) }
    return try writer.first(of: lane) != entry.number
  }
}
