import QueueModel
import QueueStore

/// What an enqueue says of other entries, looked up: whom it waits for, what it can take already.
struct LinkPlan {
  var edges: [Edge] = []
  var bindings: [TakenBinding] = []
  var settlesOnFailure = false
  /// How it ends at its acceptance: somebody it comes after has failed, or did not answer with what it takes.
  var failure: Outcome.Settlement?
  /// The edges that the entry has had so far.
  var before: [Edge] = []
  /// The lane in which it has a place already.
  var place: Lane?

  var unmet: Int64 { Int64(edges.count { !$0.isMet }) }
}

/// Looks up whom the entries of a call name, before anything of it is written (D45 to D47).
struct LinkPlanner {
  let writer: Writer
  private let admissions: [Admission]
  private let byID: [EntryID: Int]
  private var plans: [LinkPlan] = []

  init(_ admissions: [Admission], _ writer: Writer) {
    self.admissions = admissions
    self.writer = writer
    byID = Dictionary(uniqueKeysWithValues: admissions.indices.map { (admissions[$0].enqueue.id, $0) })
  }

  /// What is wrong, and with which of them.
  struct Refused: Error {
    var input: InvalidInput
    var index: Int
  }

  /// A plan for each, in their order.
  mutating func plan() throws(StoreError) -> Result<[LinkPlan], Refused> {
    for (index, admission) in admissions.enumerated() {
      switch try plan(admission) {
      case .success(let plan): plans.append(plan)
      case .failure(let input): return .failure(Refused(input: input, index: index))
      }
    }
    if let refused = try searchCircle() { return .failure(refused) }
    return .success(plans)
  }

  private func plan(_ admission: Admission) throws(StoreError) -> Result<LinkPlan, InvalidInput> {
    var plan = LinkPlan()
    guard admission.changesEntry else { return .success(plan) }
    let dependencies = admission.enqueue.dependencies
    plan.settlesOnFailure = dependencies.onFailure == .settle
    if let existing = admission.existing {
      plan.before = try writer.edges(of: existing.number)
      if existing.lane != nil { plan.place = try writer.place(of: existing.number) }
    }
    let met = Set(plan.before.filter(\.isMet).map(\.predecessor))
    for predecessor in dependencies.predecessors {
      let entry = try writer.entry(id: predecessor.id)
      let runsAgain = byID[predecessor.id].map { admissions[$0].changesEntry } ?? false
      if met.contains(predecessor.id) || entry?.isCompleted == true && !runsAgain {
        plan.edges.append(Edge(predecessor: predecessor.id, isMet: true))
        continue
      }
      guard entry != nil || runsAgain else {
        return .failure(InvalidInput(path: predecessor.path, message: "names no entry"))
      }
      plan.edges.append(Edge(predecessor: predecessor.id, isMet: false))
      if plan.settlesOnFailure, !runsAgain, let failure = entry?.endOfSuccessors {
        plan.failure = failure
      }
    }
    if let refusal = try takeValues(of: admission, &plan) { return .failure(refusal) }
    return .success(plan)
  }

  /// What is bound to entries that have completed; the refusal when an answer is gone.
  private func takeValues(of admission: Admission, _ plan: inout LinkPlan) throws(StoreError) -> InvalidInput?
  {
    let bindings = admission.enqueue.dependencies.bindings
    guard !bindings.isEmpty else { return nil }
    var taken: [TakenBinding] = []
    if let existing = admission.existing { taken = try writer.bindings(of: existing.number) }
    let met = Set(plan.edges.filter(\.isMet).map(\.predecessor))
    var sources: [EntryID: AnswerSource] = [:]
    for binding in bindings {
      guard met.contains(binding.entry) else {
        plan.bindings.append(TakenBinding(binding, value: nil))
        continue
      }
      if let value = taken.first(where: { $0.binding.isSame(as: binding) })?.value {
        plan.bindings.append(TakenBinding(binding, value: value))
        continue
      }
      if sources[binding.entry] == nil { sources[binding.entry] = try answer(of: binding.entry) }
      guard let source = sources[binding.entry] else {
        return InvalidInput(
          path: "bind.\(binding.name)",
          message: "names an entry that has completed, and whose answer was acknowledged")
      }
      do throws(BindingFailure) {
        plan.bindings.append(TakenBinding(binding, value: try source.value(of: binding)))
      } catch {
        plan.bindings.append(TakenBinding(binding, value: nil))
        plan.failure = plan.failure ?? error.settlement
      }
    }
    return nil
  }

  /// The answer of a completed entry, as long as the journal has it.
  private func answer(of id: EntryID) throws(StoreError) -> AnswerSource? {
    guard case .settled(.completed, let eventID)? = try writer.entry(id: id)?.state else { return nil }
    guard case .entry(let outcome)? = try writer.outcome(eventID: eventID)?.record else { return nil }
    return AnswerSource(outcome.settlement)
  }
}

// MARK: Circles

extension LinkPlanner {
  private func searchCircle() throws(StoreError) -> Refused? {
    var first: [EntryID] = []
    for index in admissions.indices where admissions[index].changesEntry {
      let (admission, plan) = (admissions[index], plans[index])
      // One that has settled waits for nobody: others may have come after it since.
      let waitsAlready = admission.existing?.isLive == true ? plan.before : []
      first += plan.edges.filter { !$0.isMet && !waitsAlready.contains($0) }.map(\.predecessor)
      if joinsLane(index), let inFront = try inFront(ofJoining: index) { first.append(inFront) }
    }
    guard !first.isEmpty else { return nil }
    let isKnown = try isKnownBeyondTheCall()
    guard isKnown || admissions.count > 1 else { return nil }
    let circle = try Circle.search(from: first) { id throws(StoreError) in
      if let index = byID[id], admissions[index].changesEntry { return try waits(plannedAt: index) }
      return isKnown ? try waits(id) : []
    }
    let message: String
    var index = 0
    switch circle {
    case .none: return nil
    case .closed(let ids):
      message =
        "must not make entries wait for each other in a circle: "
        + ids.prefix(10).map(\.text).joined(
          separator: ", ")
      index = ids.compactMap { byID[$0] }.min() ?? 0
    case .tooLarge: message = "cannot be checked: too many entries wait for each other here"
    }
    let path = admissions[index].enqueue.dependencies.predecessors.first == nil ? "lane" : "after"
    return Refused(input: InvalidInput(path: path, message: message), index: index)
  }

  /// Somebody beyond the call may wait for one of it; otherwise a circle can only lie within.
  private func isKnownBeyondTheCall() throws(StoreError) -> Bool {
    for index in admissions.indices where admissions[index].changesEntry {
      if plans[index].place != nil { return true }
      if try writer.isWaitedFor(admissions[index].enqueue.id) { return true }
    }
    return false
  }

  private func joinsLane(_ index: Int) -> Bool {
    let lane = admissions[index].enqueue.lane
    return lane != nil && lane != plans[index].place
  }

  /// Whom an entry of the call will wait for.
  private func waits(plannedAt index: Int) throws(StoreError) -> [EntryID] {
    var others = plans[index].edges.filter { !$0.isMet }.map(\.predecessor)
    let inFront = joinsLane(index) ? try inFront(ofJoining: index) : try stayingInFront(of: index)
    if let inFront { others.append(inFront) }
    return others
  }

  /// The one that has the last place of the lane before this one of the call takes it.
  private func inFront(ofJoining index: Int) throws(StoreError) -> EntryID? {
    guard let lane = admissions[index].enqueue.lane else { return nil }
    for other in stride(from: index - 1, through: 0, by: -1)
    where admissions[other].changesEntry && admissions[other].enqueue.lane == lane && joinsLane(other) {
      return admissions[other].enqueue.id
    }
    return try idOfStaying(from: writer.last(of: lane))
  }

  private func stayingInFront(of index: Int) throws(StoreError) -> EntryID? {
    guard plans[index].place != nil, admissions[index].enqueue.lane != nil,
      let number = admissions[index].existing?.number
    else { return nil }
    return try idOfStaying(from: writer.before(number))
  }

  /// The entry, or the first before it in its lane that does not leave it by this call.
  private func idOfStaying(from number: Int64?) throws(StoreError) -> EntryID? {
    var number = number
    while let candidate = number {
      guard let entry = try writer.entry(number: candidate) else { return nil }
      guard let index = byID[entry.id], index < plans.count, admissions[index].changesEntry,
        admissions[index].enqueue.lane != plans[index].place
      else { return entry.id }
      number = try writer.before(candidate)
    }
    return nil
  }

  /// Whom an entry that the call is not about waits for.
  private func waits(_ id: EntryID) throws(StoreError) -> [EntryID] {
    guard let entry = try writer.entry(id: id), let held = entry.held else { return [] }
    var others =
      held.unmet > 0 ? try writer.edges(of: entry.number).filter { !$0.isMet }.map(\.predecessor) : []
    guard held.isBehind else { return others }
    if let inFront = try idOfStaying(from: writer.before(entry.number)) { others.append(inFront) }
    return others
  }
}
