import QueueModel
import QueueStore

extension Turn {
  /// An enqueue. A body that has to be read or written elsewhere goes to a worker first, and later commands
  /// about the same id wait for it; the same-id rules are asked again when it is back.
  mutating func enqueue(
    _ enqueue: Enqueue, from: HostID, _ reply: @escaping Completion<EnqueueAnswer>, _ writer: Writer
  ) throws(StoreError) {
    guard !state.isFinishing else { return refuse(reply, .shutdown) }
    // A patch that comes while the body is staged is newer than the headers of this call.
    var enqueue = enqueue
    enqueue.host = from
    enqueue.headerRevision = enqueue.headerRevision ?? state.gates.headerRevision
    if state.stagings[enqueue.id] != nil {
      state.stagings[enqueue.id]?.waiting.append(.enqueue(enqueue, from: from, reply))
      return
    }
    let pending = PendingStaging(ticket: engine.nextTicket(), enqueue: enqueue, from: from, reply: reply)
    try advance(pending, with: nil, writer)
  }

  /// A worker is done.
  mutating func staged(
    _ ticket: StagingTicket, _ result: Result<StagingProduct, StageError>, _ writer: Writer
  ) throws(StoreError) {
    guard let id = state.stagings.first(where: { $0.value.ticket == ticket })?.key,
      var pending = state.stagings.removeValue(forKey: id)
    else {
      if case .success(.body(let staged)) = result { then(.discard(staged.body)) }
      return
    }
    let waiting = pending.waiting
    pending.waiting = []
    switch result {
    case .success(.stamps(let stamps)):
      pending.stamps = stamps
      try advance(pending, with: nil, writer)
    case .success(.body(let staged)):
      try advance(pending, with: staged, writer)
    case .failure(.missing(let field)):
      try sourceIsGone(pending, field, writer)
    case .failure(let error):
      refuse(pending.reply, Refusal(error))
    }
    for command in waiting {
      if state.stagings[id] != nil {
        state.stagings[id]?.waiting.append(command)
      } else {
        try decide(command, writer)
      }
    }
  }

  /// Refuses every enqueue that waits for a worker; commands that waited for it are decided.
  mutating func giveUp(_ writer: Writer) throws(StoreError) {
    state.isFinishing = true
    let pending = state.stagings.values
    state.stagings = [:]
    for staging in pending {
      refuse(staging.reply, .shutdown)
      for command in staging.waiting { try decide(command, writer) }
    }
    refuseDiagnostics()
  }

  /// Asks the same-id rules (D5 to D8) and carries out what they say, or asks a worker for what is missing.
  private mutating func advance(_ pending: PendingStaging, with staged: Staged?, _ writer: Writer)
    throws(StoreError)
  {
    let enqueue = pending.enqueue
    let existing = try writer.entry(id: enqueue.id)
    if let existing, existing.body.kind == enqueue.request.body.kind, enqueue.request.body.comparesFiles,
      pending.stamps == nil
    {
      return wait(pending, for: .stamps)
    }
    // What was staged was seen later than what the worker looked at first.
    let rule = SameID.rule(
      for: enqueue, existing: existing, storedData: try writer.storedData(of: existing),
      storedParts: try writer.storedParts(of: existing),
      sourceStamps: staged.map { $0.body.sources } ?? pending.stamps)
    let refreshes = rule.refreshesReference(of: existing)
    guard rule.needsBody || refreshes else {
      if let staged { then(.discard(staged.body)) }
      return try keepBody(rule, existing, pending, writer)
    }
    guard let staged = staged ?? Staged(inline: enqueue.request.body) else {
      return wait(pending, for: .body)
    }
    if refreshes {
      try keepBody(rule, existing, pending, anew: staged, writer)
    } else if let existing {
      try giveBody(staged, to: existing, pending, writer)
    } else {
      try create(staged, pending, writer)
    }
  }

  /// A source that is missing: the entry may own the body that it was staged to (D28).
  private mutating func sourceIsGone(
    _ pending: PendingStaging, _ field: String, _ writer: Writer
  ) throws(StoreError) {
    guard let existing = try writer.entry(id: pending.enqueue.id),
      existing.ownsBody(of: pending.enqueue.request)
    else { return refuse(pending.reply, Refusal(.missing(field: field))) }
    let rule = SameID.rule(
      for: pending.enqueue, existing: existing, storedData: nil,
      storedParts: try writer.storedParts(of: existing), sourceStamps: pending.stamps)
    if rule.needsBody {
      if case .parts(_, let parts) = pending.enqueue.request.body,
        let misfit = parts.misfit(size: existing.body.length)
      {
        return refuse(pending.reply, .invalid(misfit))
      }
      try giveBody(nil, to: existing, pending, writer)
    } else {
      try keepBody(rule, existing, pending, writer)
    }
  }

  private mutating func wait(_ pending: PendingStaging, for kind: StagingWork.Kind) {
    var pending = pending
    pending.ticket = engine.nextTicket()
    state.stagings[pending.enqueue.id] = pending
    then(.stage(StagingWork(ticket: pending.ticket, kind: kind, request: pending.enqueue.request)))
  }

  private mutating func create(_ staged: Staged, _ pending: PendingStaging, _ writer: Writer)
    throws(StoreError)
  {
    let decision = Entry.created(
      number: writer.takeNumber(), from: pending.enqueue, body: staged.body, gates: state.gates,
      lifetimeMs: state.configuration.lifetimeMs, now: now, randomness: engine.randomness)
    try giveUpSources(of: staged, writer)
    accept(pending, decision, .created)
    try insert(decision, writer)
    if let bytes = staged.rowBytes { try writer.putRowBody(decision.entry.number, bytes) }
    try putParts(of: pending, decision.entry, writer)
  }

  /// The requests of an entry in parts lie beside its row.
  private func putParts(of pending: PendingStaging, _ entry: Entry, _ writer: Writer) throws(StoreError) {
    guard case .parts(_, let parts) = pending.enqueue.request.body else { return }
    try writer.putParts(parts, of: entry.number)
  }

  /// A different body takes the place of the old one; nil keeps the bytes that the entry owns.
  private mutating func giveBody(
    _ staged: Staged?, to existing: Entry, _ pending: PendingStaging, _ writer: Writer
  ) throws(StoreError) {
    let decision = existing.replaced(
      by: pending.enqueue, body: staged?.body, gates: state.gates, lifetimeMs: state.configuration.lifetimeMs,
      now: now, randomness: engine.randomness)
    if let staged { try giveUpSources(of: staged, writer) }
    accept(pending, decision, .replaced)
    try apply(decision, from: existing, writer)
    if let bytes = staged?.rowBytes { try writer.putRowBody(decision.entry.number, bytes) }
    try putParts(of: pending, decision.entry, writer)
  }

  /// The caller's names of moved files go after the commit and before the answer (D28).
  private mutating func giveUpSources(of staged: Staged, _ writer: Writer) throws(StoreError) {
    guard !staged.moved.isEmpty else { return }
    try writer.note(staged.moved)
    then(.removeMoved)
  }

  /// - Parameter anew: The same body staged once more, where the entry referred to the caller's files.
  private mutating func keepBody(
    _ rule: SameID, _ existing: Entry?, _ pending: PendingStaging, anew staged: Staged? = nil,
    _ writer: Writer
  ) throws(StoreError) {
    guard let existing else { preconditionFailure("an entry that is new needs a body") }
    let lifetimeMs = state.configuration.lifetimeMs
    if let staged { try giveUpSources(of: staged, writer) }
    switch rule {
    case .refuseRunning: refuse(pending.reply, .running)
    case .resume:
      let decision = existing.resumed(
        by: pending.enqueue, body: staged?.body, gates: state.gates, partsAtOnce: partsAtOnce,
        lifetimeMs: lifetimeMs, now: now)
      accept(pending, decision, .resumed)
      try apply(decision, from: existing, writer)
      try putParts(of: pending, decision.entry, writer)
    case .reopen:
      let decision = existing.reopened(
        by: pending.enqueue, body: staged?.body, gates: state.gates, lifetimeMs: lifetimeMs, now: now,
        randomness: engine.randomness)
      accept(pending, decision, .reopened)
      try apply(decision, from: existing, writer)
      try putParts(of: pending, decision.entry, writer)
    case .redeliver(let eventID):
      let row = Row(existing, gates: state.gates, now: now)
      answer(
        pending.reply, EnqueueAnswer(generation: existing.generation, disposition: .redelivered, row: row))
      try redeliver(eventID, writer)
    case .create, .replace: preconditionFailure("these take a body")
    }
    if let bytes = staged?.rowBytes { try writer.putRowBody(existing.number, bytes) }
  }

  /// The reply goes before every event about the entry, so it is noted before the decision's effects.
  private mutating func accept(
    _ pending: PendingStaging, _ decision: Decision, _ disposition: EnqueueAnswer.Disposition
  ) {
    mustSync()
    let entry = decision.entry
    log(
      .debug,
      LogLine(
        .debug, "enqueued",
        [
          .init("id", entry.id.text), .init("key", entry.key.text),
          .init("disposition", disposition.rawValue),
          .init("bytes", entry.body.length),
        ]))
    let row = Row(entry, gates: state.gates, now: now)
    answer(
      pending.reply, EnqueueAnswer(generation: entry.generation, disposition: disposition, row: row))
  }

  mutating func cancel(
    _ id: EntryID, _ command: Command, _ reply: @escaping Completion<Void>, _ writer: Writer
  ) throws(StoreError) {
    if state.stagings[id] != nil {
      state.stagings[id]?.waiting.append(command)
      return
    }
    answer(reply, ())
    guard let entry = try writer.entry(id: id) else { return }
    mustSync()
    switch entry.state {
    case .queued, .running, .sending, .awaitingAuth:
      try apply(state.shown(entry).cancelled(now: now, randomness: engine.randomness), from: entry, writer)
    case .settled:
      for eventID in try writer.deleteOutcomes(ofEntry: entry.number) {
        for other in state.connections.keys { state.connections[other]?.letGo(eventID) }
      }
      try writer.delete(entry)
    }
  }
}

extension Refusal {
  init(_ error: StageError) {
    switch error {
    case .missing(let field):
      self = .fileMissing(InvalidInput(path: field, message: "names no file"))
    case .unreadable(let field):
      self = .fileMissing(InvalidInput(path: field, message: "names a file that cannot be read"))
    case .notRegular(let field):
      self = .invalid(InvalidInput(path: field, message: "must name a regular file"))
    case .symbolicLink(let field):
      self = .invalid(InvalidInput(path: field, message: "must not be a symbolic link when it is moved"))
    case .insideDirectory(let field):
      self = .invalid(InvalidInput(path: field, message: "must not lie in the queue's own directory"))
    case .misfit(let misfit): self = .invalid(misfit)
    case .changed(let field):
      self = .fileMissing(InvalidInput(path: field, message: "names a file that changed while it was read"))
    case .late(let field):
      self = .fileMissing(
        InvalidInput(path: field, message: "names a file that was not found within a second"))
    case .sizeless(let field):
      self = .invalid(
        InvalidInput(path: field, message: "must name a file that holds the bytes its size announces"))
    case .storage(let message):
      self = .storage(message)
    }
  }
}
