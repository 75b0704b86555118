import QueueModel
import QueueStore

/// Acceptance of entries that wait for others (D45 to D47).
extension Turn {
  /// Why an entry that waits for this one settles, when it is to settle on failures.
  static func failure(of predecessor: Entry) -> Outcome.Settlement? {
    guard case .settled(let kind, _) = predecessor.state else { return nil }
    return failure(of: predecessor.id, kind)
  }

  static func failure(of id: EntryID, _ kind: Outcome.Kind) -> Outcome.Settlement? {
    switch kind {
    case .completed: nil
    case .error: .error(kind: .dependency, message: "\(id) ended with an error", response: nil)
    case .cancelled: .error(kind: .dependency, message: "\(id) was cancelled", response: nil)
    }
  }

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
      let values = BoundValues(plan.bindings.compactMap { taken in taken.value.map { (taken.binding, $0) } })
      let stored = admission.staged == nil ? try writer.storedData(of: admission.existing) : nil
      let template = BodyTemplate(admission.enqueue.request.body, stored: stored)
      do throws(BindingFailure) {
        decision.entry.expansion = try decision.entry.expansion(of: template, with: values)
      } catch {
        failure = error.settlement
      }
    }
    guard let failure, decision.entry.isLive else {
      return decision.held(by: Entry.Held(unmet: plan.unmet, isBehind: isBehind), now: now)
    }
    var end = decision.entry.failedBefore(failure, now: now, randomness: engine.randomness)
    end.releasesBody = decision.releasesBody
    return end
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
