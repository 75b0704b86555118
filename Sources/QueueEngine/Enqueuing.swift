import QueueModel
import QueueStore

extension Turn {
  mutating func enqueue(
    _ enqueue: Enqueue, _ reply: @escaping Completion<EnqueueAnswer>, _ writer: Writer
  ) throws(StoreError) {
    try begin([enqueue], .one(reply), writer)
  }

  /// All of them, or none (D50).
  mutating func enqueueAll(
    _ enqueues: [Enqueue], _ reply: @escaping Completion<[EnqueueAnswer]>, _ writer: Writer
  ) throws(StoreError) {
    try begin(enqueues, .all(reply), writer)
  }

  private mutating func begin(_ enqueues: [Enqueue], _ reply: PendingEnqueue.Reply, _ writer: Writer)
    throws(StoreError)
  {
    let pending = PendingEnqueue(
      number: engine.nextTicket().number, items: enqueues.map { PendingEnqueue.Incoming(enqueue: $0) },
      reply: reply)
    guard !state.isFinishing else { return refuse(pending, .shutdown) }
    try advance(pending, writer)
  }

  /// A worker is done. The same-id rules are asked again when all that the call waits for is there.
  mutating func staged(
    _ ticket: StagingTicket, _ result: Result<StagingProduct, StageError>, _ writer: Writer
  ) throws(StoreError) {
    guard var pending = state.pending(awaiting: ticket), let index = pending.awaited[ticket] else {
      if case .success(.body(let staged)) = result { then(.discard(staged.body)) }
      return
    }
    pending.awaited[ticket] = nil
    var refusal: Refusal?
    switch result {
    case .success(.stamps(let stamps)): pending.items[index].stamps = stamps
    case .success(.body(let staged)): pending.items[index].staged = staged
    case .failure(.missing(let field)): pending.items[index].missing = field
    case .failure(let error): refusal = Refusal(error)
    }
    guard refusal != nil || pending.awaited.isEmpty else {
      state.stagings[pending.number] = pending
      return
    }
    let waiting = state.drop(pending)
    if let refusal { refuse(pending, refusal, at: index) } else { try advance(pending, writer) }
    try release(waiting, writer)
  }

  /// Refuses every enqueue that waits for a worker; commands that waited for it are decided.
  mutating func giveUp(_ writer: Writer) throws(StoreError) {
    state.isFinishing = true
    for pending in state.stagings.values.sorted(by: { $0.number < $1.number }) {
      refuse(pending, .shutdown)
      try release(state.drop(pending), writer)
    }
    refuseGroupCancels()
    refuseDiagnostics()
  }

  /// Asks the same-id rules (D5 to D8) of each, and carries out what they say, or has workers bring what is
  /// missing. Bodies that have to be read or written elsewhere go there first; later commands about the same
  /// ids wait.
  private mutating func advance(_ pending: PendingEnqueue, _ writer: Writer) throws(StoreError) {
    var admissions: [Admission] = []
    var wanted: [(index: Int, kind: StagingWork.Kind)] = []
    for (index, item) in pending.items.enumerated() {
      switch try admission(of: item, writer) {
      case .admitted(let admission): admissions.append(admission)
      case .wants(let kind): wanted.append((index, kind))
      case .refused(let refusal): return refuse(pending, refusal, at: index)
      }
    }
    guard wanted.isEmpty else { return wait(pending, for: wanted) }
    var planner = LinkPlanner(admissions, writer)
    switch try planner.plan() {
    case .success(let plans): try admit(admissions, by: plans, answering: pending.reply, writer)
    case .failure(let refused): refuse(pending, .invalid(refused.input), at: refused.index)
    }
  }

  private mutating func wait(
    _ pending: PendingEnqueue, for wanted: [(index: Int, kind: StagingWork.Kind)]
  ) {
    var pending = pending
    for (index, kind) in wanted {
      let ticket = engine.nextTicket()
      pending.awaited[ticket] = index
      then(.stage(StagingWork(ticket: ticket, kind: kind, request: pending.items[index].enqueue.request)))
    }
    state.stagings[pending.number] = pending
    state.lines.hold(pending.ids)
  }

  /// Nothing of the call is kept: what was staged for it goes.
  private mutating func refuse(_ pending: PendingEnqueue, _ refusal: Refusal, at index: Int? = nil) {
    for body in pending.stagedBodies { then(.discard(body)) }
    then(.answer { pending.refuse(refusal, at: index) })
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
