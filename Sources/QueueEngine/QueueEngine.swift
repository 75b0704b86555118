package import QueueModel
package import QueueStore

/// Runs the queue: decides by the rules of QueueModel, commits, and only then acts. Confined to one thread;
/// the one write path of every entry. `EngineThread` gives it a thread, tests call `process` themselves.
package final class QueueEngine {
  let store: QueueStore
  let transport: any Transport
  let clock: any Clock
  let randomness: any Randomness
  let log: any Log
  /// Hands work to a worker; `Command.staged` brings what came of it.
  let stage: (StagingWork) -> Void
  var state: EngineState
  /// Commands whose commit failed though no host could be told, such as what the transport has heard of a
  /// server, and all that have come while a turn is in doubt: tried again, in this order (D36).
  var stuck: [Command] = []
  /// Failed commits in a row.
  var failedCommits: Int64 = 0
  /// Queue time before which nothing is committed again or started; nil when the store is well.
  var storeRestsUntil: Int64?
  var hasStoppedForDamage = false
  /// A turn of which nobody knows yet whether it stands (D36); nothing is decided until that is known.
  private var doubt: Doubt?
  private var lastTicket: UInt64 = 0
  /// The record of this start, while it lacks what lies beside the database.
  var boot: BootRecord?
  /// A host has asked for something: clean-up keeps no first answer waiting.
  var hasBeenAsked = false

  private struct Doubt {
    var turn: Turn
    var commands: [Command]
    var number: Int64
  }

  /// False in a process that changes the queue and is gone again: no attempt begins, nothing expires.
  let sends: Bool

  /// Opens nothing and starts nothing: `recover` does. `network` is what the machine is connected by until a
  /// `Command.networkDetected` says otherwise.
  ///
  /// - Parameter sends: Whether attempts begin and entries expire, and whether this counts as a start of the
  ///   queue.
  package init(
    store: QueueStore, transport: any Transport, clock: any Clock, randomness: any Randomness,
    network: Network = Network(), log: any Log = SilentLog(), sends: Bool = true,
    stage: @escaping (StagingWork) -> Void
  ) throws(StoreError) {
    self.sends = sends
    self.store = store
    self.transport = transport
    self.clock = clock
    self.randomness = randomness
    self.log = log
    self.stage = stage
    state = EngineState(gates: try store.reader.gates(), configuration: try store.reader.configuration())
    state.detectedNetwork = network
    state.unsorted = state.gates.pausedGroups.union(try store.reader.groupsApart())
    state.splitting = Set(try state.misplaced(store.reader).keys)
    state.gates.network = network
    transport.configure(state.configuration.connection)
    transport.limit(state.configuration.bandwidth)
  }

  /// Puts entries that a dead process left running back in the queue, notes the start, finishes the moves of
  /// that process, and begins to send. A database in which it meets damage is left to the next start, as in
  /// `process`.
  package func recover() throws(StoreError) {
    do throws(StoreError) {
      boot = try noteStart(now: clock.now())
    } catch {
      store.meet(error)
      guard error.isCorruption else { throw error }
    }
    process([])
  }

  /// The record of this start; nil for one that sends nothing, which is none.
  private func noteStart(now: Moment) throws(StoreError) -> BootRecord? {
    var turn = Turn(engine: self, now: now)
    let record = try store.write(durable: true) { writer in
      let record = sends ? try bootRecord(writer, now: now) : nil
      if let record { try writer.addDiagnostic(record.diagnostic, isBoot: true) }
      for entry in try writer.running() { try turn.apply(entry.orphaned(now: now), from: entry, writer) }
      return record
    }
    conclude(turn)
    return record
  }

  /// One turn: decides the commands in order, behind those that were kept and whose time has come, commits
  /// them together, then answers and acts. When the commit fails, each is tried again without the others and
  /// without what else the turn had to do, before any is refused (D36).
  package func process(_ commands: [Command]) {
    hasBeenAsked = hasBeenAsked || commands.contains { $0.isRequest }
    if store.damage == nil { settleDoubt() }
    decide(takeStuck() + commands)
    stopForDamage()
  }

  /// - Parameter alone: With no other work than theirs.
  private func decide(_ commands: [Command], alone: Bool = false) {
    if store.damage != nil { return serveDamaged(commands) }
    guard doubt == nil else {
      stuck += commands
      return
    }
    let commands = takeOverNetworks(commands)
    do {
      try turn(commands, alone: alone)
    } catch {
      store.meet(error)
      if store.damage != nil { return serveDamaged(commands) }
      guard !alone && !commands.isEmpty else {
        stuck += commands.filter(\.isKept)
        rest(error)
        return refuse(commands, error)
      }
      for command in commands { decide([command], alone: true) }
      decide([])
    }
  }

  private func turn(_ commands: [Command], alone: Bool) throws(StoreError) {
    var turn = Turn(engine: self, now: clock.now())
    endRest(now: turn.now)
    let isWell = storeRestsUntil == nil && !alone
    do throws(StoreError) {
      try write(&turn, commands, isWell: isWell)
    } catch .unsettled(let number, let message) {
      doubt = Doubt(turn: turn, commands: commands, number: number)
      rest(.unsettled(turn: number, message: message))
      return
    }
    conclude(turn)
  }

  private func write(_ turn: inout Turn, _ commands: [Command], isWell: Bool) throws(StoreError) {
    try store.write(durability: { turn.durability }) { writer in
      for command in commands { try turn.decide(command, writer) }
      try turn.goOnWalking(writer)
      if isWell {
        try turn.goOnCancelling(writer)
        try turn.setApart(writer)
      }
      let goesOn = sends && isWell && !turn.state.isFinishing
      if goesOn { try turn.settleExpired(writer) }
      // Where a command is alone, or the store rests, what writes nothing does not begin to by other work.
      if isWell || turn.wrote { try turn.carryOutConsequences(writer) }
      if isWell { try turn.forgetMembers(writer) }
      if goesOn {
        try turn.startDue(writer)
        try turn.settleOverdue(writer)
      }
      try turn.settleGroups(writer)
      try turn.tellGroups(writer)
      if isWell || turn.wrote { try turn.deliverOutcomes(writer) }
      try turn.erasePatches(writer)
    }
  }

  /// The turn stands: its state holds, its effects run.
  private func conclude(_ turn: Turn) {
    if turn.wrote {
      storeIsWell()
      storeRestsUntil = nil
    }
    state = turn.state
    if turn.wrote { state.counters.commits += 1 }
    turn.act()
  }

  /// Asks a reopened store whether the turn in doubt stands; the doubt stays while that cannot be known.
  private func settleDoubt() {
    guard let doubt, storeRestsUntil.map({ $0 <= clock.now().steady }) ?? true else { return }
    do throws(StoreError) {
      let stands = try store.stands(doubt.number)
      self.doubt = nil
      storeRestsUntil = nil
      if stands { return conclude(doubt.turn) }
      stuck.insert(contentsOf: doubt.commands.filter(\.isKept), at: 0)
      refuse(doubt.commands, .failed(code: 0, message: "the change was lost with a failed sync"))
    } catch {
      store.meet(error)
      if store.damage == nil { rest(error) }
    }
  }

  /// The commands of a turn of which nobody will know whether it stands.
  func takeDoubtful() -> [Command] {
    defer { doubt = nil }
    return doubt?.commands ?? []
  }

  /// When the store has rested for long enough, stores the diagnostics that could not be stored before, which
  /// shows whether it is well again.
  private func endRest(now: Moment) {
    if let storeRestsUntil, storeRestsUntil > now.steady { return }
    storeRestsUntil = nil
    guard store.hasUnwrittenDiagnostics else { return }
    do throws(StoreError) {
      try store.writeDiagnostics()
      storeIsWell()
    } catch {
      store.meet(error)
      rest(error)
    }
  }

  private func storeIsWell() {
    if failedCommits > 0 { log.write(.warn, "the database can be written again") }
    failedCommits = 0
  }

  /// Trouble is told once, and again when there was none in between. What fails while the store rests makes
  /// the rest no longer: it is the same trouble.
  private func rest(_ error: StoreError) {
    if failedCommits == 0 && store.damage == nil {
      store.note(.error, "the database cannot be written; what would change it is refused", error.message)
    }
    if let storeRestsUntil, storeRestsUntil > clock.now().steady { return }
    failedCommits += 1
    storeRestsUntil = clock.now().steady + Backoff.ofStore.wait(afterFailures: failedCommits, fraction: 0.5)
  }

  /// A commit failed: hosts get E_STORAGE.
  private func refuse(_ commands: [Command], _ error: StoreError) {
    for command in commands {
      if case .staged(let ticket, let result) = command {
        giveUpStaging(ticket, result, .storage(error.message))
      } else if case .connected(let id, let host) = command {
        // Needs no store. Kept, it would come after what the host asks for.
        state.connections[id] = ConnectionState(host: host)
      } else if !answersByReading(command) {
        command.refuse(.storage(error.message))
      }
    }
  }

  /// The entry of a staged body could not be committed: the host is told, the body goes, and what waited for
  /// it goes on.
  private func giveUpStaging(
    _ ticket: StagingTicket, _ result: Result<StagingProduct, StageError>, _ refusal: Refusal
  ) {
    if case .success(.body(let staged)) = result { store.discard(staged.body) }
    guard let pending = state.pending(awaiting: ticket) else { return }
    for body in pending.stagedBodies { store.discard(body) }
    let waiting = state.drop(pending)
    pending.refuse(refusal)
    if !waiting.isEmpty { process(waiting) }
  }

  /// The commands to try again now, if their time has come.
  private func takeStuck() -> [Command] {
    guard doubt == nil, store.damage == nil, storeRestsUntil.map({ $0 <= clock.now().steady }) ?? true
    else { return [] }
    defer { stuck = [] }
    return stuck
  }

  func nextTicket() -> StagingTicket {
    lastTicket += 1
    return StagingTicket(number: lastTicket)
  }
}

extension Backoff {
  /// Between attempts to write to a store that failed: 1 s doubling to 60 s.
  static let ofStore = Backoff(baseMs: 1000, maxMs: 60_000, jitter: 0)
}

extension Command {
  /// A host waits for an answer to it.
  var isRequest: Bool {
    switch self {
    case .enqueue, .enqueueAll, .cancel, .cancelGroup, .retry, .pause, .resume, .setWifiOnly, .setNetwork,
      .updateHeaders, .configure, .subscribe, .unsubscribe, .acknowledge, .release, .rows, .diagnostics,
      .stats, .explain, .explainGroup:
      true
    case .connected, .disconnected, .caughtUp, .networkDetected, .noticed, .staged, .report, .swept, .tick,
      .finish, .giveUp:
      false
    }
  }

  /// When it could not be committed, no host can be told: it is tried again (D36).
  var isKept: Bool {
    switch self {
    case .staged, .connected: false
    default: !isRequest
    }
  }

  /// Answers the host that asked, if one did.
  func refuse(_ refusal: Refusal) {
    switch self {
    case .enqueue(_, _, let reply): reply(.failure(refusal))
    case .enqueueAll(_, _, let reply): reply(.failure(refusal))
    case .cancel(_, let reply), .cancelGroup(_, let reply), .pause(_, let reply), .resume(_, let reply),
      .setWifiOnly(_, let reply), .setNetwork(_, _, let reply), .updateHeaders(_, _, _, let reply),
      .configure(_, _, let reply), .subscribe(_, _, let reply), .unsubscribe(_, let reply),
      .acknowledge(_, _, let reply), .release(_, _, let reply):
      reply(.failure(refusal))
    case .retry(_, let reply): reply(.failure(refusal))
    case .rows(_, let reply): reply(.failure(refusal))
    case .diagnostics(let reply): reply(.failure(refusal))
    case .stats(let reply): reply(.failure(refusal))
    case .explain(_, let reply): reply(.failure(refusal))
    case .explainGroup(_, let reply): reply(.failure(refusal))
    case .connected, .disconnected, .caughtUp, .networkDetected, .noticed, .staged, .report, .swept, .tick,
      .finish, .giveUp:
      break
    }
  }
}
