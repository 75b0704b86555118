import QueueModel
import QueueStore

/// What the same-id rules make of one enqueue, with everything that they need at hand.
struct Admission {
  var enqueue: Enqueue
  var rule: SameID
  /// The entry that has the id already.
  var existing: Entry?
  /// nil keeps the body that the entry has.
  var staged: Staged?
  /// Staged, and not needed after all.
  var surplus: StagedBody?

  /// What is known of one enqueue.
  enum Step {
    case admitted(Admission)
    /// A worker has to look first.
    case wants(StagingWork.Kind)
    case refused(Refusal)
  }

  /// The entry is new, or goes on otherwise than before.
  var changesEntry: Bool {
    switch rule {
    case .create, .resume, .replace, .reopen: true
    case .redeliver, .keep, .refuseRunning: false
    }
  }

  /// What is answered, unless the rule refuses.
  var disposition: EnqueueAnswer.Disposition {
    switch rule {
    case .create: .created
    case .resume: .resumed
    case .replace: .replaced
    case .reopen: .reopened
    case .redeliver: .redelivered
    case .keep: .kept
    case .refuseRunning: preconditionFailure("a refusal is no admission")
    }
  }
}

extension Turn {
  func admission(of item: PendingEnqueue.Incoming, _ writer: Writer) throws(StoreError) -> Admission.Step {
    let enqueue = item.enqueue
    let existing = try writer.entry(id: enqueue.id)
    if let field = item.missing { return try admission(of: item, existing, without: field, writer) }
    let comparesFiles =
      existing.map { $0.body.kind == enqueue.request.body.kind } ?? false
      && enqueue.request.body.comparesFiles
    if comparesFiles, item.stamps == nil, item.staged == nil { return .wants(.stamps) }
    // What was staged was seen later than what the worker looked at first.
    let rule = SameID.rule(
      for: enqueue, existing: existing, storedData: try writer.storedData(of: existing),
      storedParts: try writer.storedParts(of: existing),
      sourceStamps: item.staged.map { $0.body.sources } ?? item.stamps)
    if rule == .refuseRunning { return .refused(.running) }
    guard rule.needsBody || rule.refreshesReference(of: existing) else {
      return .admitted(
        Admission(enqueue: enqueue, rule: rule, existing: existing, surplus: item.staged?.body))
    }
    guard let staged = item.staged ?? Staged(inline: enqueue.request.body) else { return .wants(.body) }
    return .admitted(Admission(enqueue: enqueue, rule: rule, existing: existing, staged: staged))
  }

  /// A source is gone: the entry may own the body that it was staged to (D28).
  private func admission(
    of item: PendingEnqueue.Incoming, _ existing: Entry?, without field: String, _ writer: Writer
  ) throws(StoreError) -> Admission.Step {
    let enqueue = item.enqueue
    guard let existing, existing.ownsBody(of: enqueue.request) else {
      return .refused(Refusal(.missing(field: field)))
    }
    let rule = SameID.rule(
      for: enqueue, existing: existing, storedData: nil, storedParts: try writer.storedParts(of: existing),
      sourceStamps: item.stamps)
    if rule == .refuseRunning { return .refused(.running) }
    if rule.needsBody, case .parts(_, let parts) = enqueue.request.body,
      let misfit = parts.misfit(size: existing.body.length)
    {
      return .refused(.invalid(misfit))
    }
    return .admitted(Admission(enqueue: enqueue, rule: rule, existing: existing))
  }

  /// Writes all of them, as the plans of their links say. Each reply goes before every event about its entry,
  /// so the decisions are made before the first of them is written.
  mutating func admit(
    _ admissions: [Admission], by plans: [LinkPlan], answering reply: PendingEnqueue.Reply, _ writer: Writer
  ) throws(StoreError) {
    var decisions: [Decision?] = []
    var answers: [EnqueueAnswer] = []
    // Who comes next in a lane may be one that is still to be written.
    lanesHeldBack = []
    for (admission, plan) in zip(admissions, plans) {
      let decision = try decision(on: admission, writer).map { decision throws(StoreError) in
        try link(decision, admission, by: plan, writer)
      }
      guard let entry = decision?.entry ?? admission.existing else {
        preconditionFailure("an entry that is new has a decision")
      }
      decisions.append(decision)
      answers.append(
        EnqueueAnswer(
          generation: entry.generation, disposition: admission.disposition,
          row: Row(entry, gates: state.gates, now: now)))
    }
    // The caller's names of moved files go after the commit and before the answer (D28).
    let moved = admissions.flatMap { $0.staged?.moved ?? [] }
    if !moved.isEmpty {
      try writer.note(moved)
      then(.removeMoved)
    }
    switch reply {
    case .one(let reply): answer(reply, answers[0])
    case .all(let reply): answer(reply, answers)
    }
    for (admission, decision) in zip(admissions, decisions) { try write(admission, decision, writer) }
    let lanes = lanesHeldBack ?? []
    lanesHeldBack = nil
    for lane in lanes { try goOn(lane, writer) }
  }

  /// nil where nothing of the entry changes.
  private func decision(on admission: Admission, _ writer: Writer) -> Decision? {
    let (enqueue, staged) = (admission.enqueue, admission.staged)
    let lifetimeMs = state.configuration.lifetimeMs
    guard let existing = admission.existing else {
      guard let staged else { preconditionFailure("an entry that is new needs a body") }
      return Entry.created(
        number: writer.takeNumber(), from: enqueue, body: staged.body, gates: state.gates,
        lifetimeMs: lifetimeMs, now: now, randomness: engine.randomness)
    }
    switch admission.rule {
    case .create, .replace:
      return existing.replaced(
        by: enqueue, body: staged?.body, gates: state.gates, lifetimeMs: lifetimeMs, now: now,
        randomness: engine.randomness)
    case .resume:
      return existing.resumed(
        by: enqueue, body: staged?.body, gates: state.gates, partsAtOnce: partsAtOnce,
        lifetimeMs: lifetimeMs, now: now)
    case .reopen:
      return existing.reopened(
        by: enqueue, body: staged?.body, gates: state.gates, lifetimeMs: lifetimeMs, now: now,
        randomness: engine.randomness)
    case .redeliver, .keep, .refuseRunning: return nil
    }
  }

  private mutating func write(_ admission: Admission, _ decision: Decision?, _ writer: Writer)
    throws(StoreError)
  {
    if let body = admission.surplus { then(.discard(body)) }
    guard let decision else {
      if case .redeliver(let eventID) = admission.rule { try redeliver(eventID, writer) }
      return
    }
    mustSync()
    log(.debug, LogLine(enqueued: decision.entry, as: admission.disposition.rawValue))
    let number = decision.entry.number
    let rowBody = admission.staged?.rowBytes
    if let existing = admission.existing {
      try apply(decision, from: existing, writer)
      if let rowBody { try writer.putRowBody(number, rowBody) }
    } else {
      try insert(decision, body: rowBody, writer)
    }
    if let group = decision.entry.group, let limit = admission.enqueue.groupDeadlineMs {
      try writer.save(deadlineMs: limit, of: group)
    }
    // The requests of an entry in parts lie beside its row.
    if case .parts(_, let parts) = admission.enqueue.request.body { try writer.putParts(parts, of: number) }
  }
}
