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
  /// server, and those that have come while a turn is in doubt or had waited for one that was given up: tried
  /// again, in this order (D36).
  var kept: [Command] = []
  /// Failed commits in a row.
  var failedCommits: Int64 = 0
  /// Queue time before which nothing is committed again or started; nil when the store is well.
  var storeRestsUntil: Int64?
  var hasStoppedForDamage = false
  /// A turn of which nobody knows yet whether it stands (D36); nothing is decided until that is known.
  var doubt: Doubt?
  /// The store's turn after the last that was concluded.
  private(set) var lastTurn: Int64 = 0
  private var lastTicket: UInt64 = 0
  /// The record of this start, while it lacks what lies beside the database.
  var boot: BootRecord?
  /// A host has asked for something: clean-up keeps no first answer waiting.
  var hasBeenAsked = false

  struct Doubt {
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
      try turn.takeBackRunning(writer)
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
    decide(takeKept(before: commands) + commands)
    stopForDamage()
  }

  /// - Parameter alone: With no other work than that of the commands, which the caller sees to.
  /// - Returns: What had waited for a command that was alone; it is next.
  @discardableResult
  func turn(_ commands: [Command], alone: Bool) throws(StoreError) -> [Command] {
    guard try takeBackLostStarts() else {
      keep(commands)
      return []
    }
    var turn = Turn(engine: self, now: clock.now(), isAlone: alone)
    let wasTried = endRest(now: turn.now)
    let isWell = storeRestsUntil == nil && !alone
    do throws(StoreError) {
      try write(&turn, commands, isWell: isWell)
    } catch .unsettled(let number, let message) {
      comeIntoDoubt(Doubt(turn: turn, commands: commands, number: number), message)
      return []
    }
    conclude(turn)
    if isWell {
      if turn.wrote || wasTried { storeIsWell() }
    } else if turn.wrote && !alone {
      // The rest is over; what it had left out follows.
      decide([])
    }
    return turn.released
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
      // A turn that writes nothing does not begin to in a store that rests.
      let goesFurther = isWell || turn.wrote && !turn.isAlone
      if goesFurther { try turn.carryOutConsequences(writer) }
      if isWell { try turn.forgetMembers(writer) }
      if goesOn {
        try turn.startDue(writer)
        try turn.settleOverdue(writer)
      }
      try turn.settleGroups(writer)
      try turn.tellGroups(writer)
      if goesFurther { try turn.deliverOutcomes(writer) }
      try turn.erasePatches(writer)
    }
  }

  /// The turn stands: its state holds, its effects run.
  func conclude(_ turn: Turn) {
    if turn.wrote { storeRestsUntil = nil }
    lastTurn = store.turn
    state = turn.state
    if turn.wrote { state.counters.commits += 1 }
    turn.act()
  }

  func nextTicket() -> StagingTicket {
    lastTicket += 1
    return StagingTicket(number: lastTicket)
  }
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
}
