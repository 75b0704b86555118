import QueueModel
import QueueStore

/// What becomes of a turn that could not be committed (D36).
extension QueueEngine {
  func decide(_ commands: [Command]) {
    if store.damage != nil { return serveDamaged(commands) }
    guard doubt == nil else { return keep(commands) }
    let commands = takeOverNetworks(commands)
    do {
      try turn(commands, alone: false)
    } catch {
      store.meet(error)
      if store.damage != nil { return serveDamaged(commands) }
      // Where nothing could begin, none of them is the reason.
      guard store.hasBegun && !commands.isEmpty else {
        rest(error)
        let waiting = refuseOrKeep(commands, error)
        kept += waiting
        return
      }
      decideApart(commands)
    }
  }

  /// Each by itself, and then what else the turn had to do.
  private func decideApart(_ commands: [Command]) {
    var left = commands
    var failure: StoreError?
    while !left.isEmpty && store.damage == nil && doubt == nil {
      let command = takeOverNetworks([left.removeFirst()])
      do {
        left = try turn(command, alone: true) + left
      } catch {
        store.meet(error)
        failure = error
        left = (store.damage == nil ? refuseOrKeep(command, error) : command) + left
      }
    }
    decide(left)
    if let failure, store.damage == nil { rest(failure) }
  }

  /// Until it can be taken in. What only passes comes anew.
  func keep(_ commands: [Command]) {
    for command in commands {
      switch command {
      case .tick, .caughtUp, .report(_, .progress): break
      case .finish:
        // Needs no store, and is not to wait for it.
        state.isFinishing = true
        doubt?.turn.state.isFinishing = true
      default: kept.append(command)
      }
    }
  }

  /// Hosts get E_STORAGE; what no host can be told is kept. Returns what had waited for a body that is given
  /// up, and goes on.
  private func refuseOrKeep(_ commands: [Command], _ error: StoreError) -> [Command] {
    var waiting: [Command] = []
    for command in commands {
      if case .staged(let ticket, let result) = command {
        waiting += giveUpStaging(ticket, result, .storage(error.message))
      } else if case .connected(let id, let host) = command {
        // Needs no store. Kept, it would come after what the host asks for.
        state.connections[id] = ConnectionState(host: host)
      } else if !command.isRequest {
        keep([command])
      } else if !answersByReading(command) {
        command.refuse(.storage(error.message))
      }
    }
    return waiting
  }

  /// The entry of a staged body could not be committed: the host is told, and the body goes. Returns what
  /// waited for it.
  private func giveUpStaging(
    _ ticket: StagingTicket, _ result: Result<StagingProduct, StageError>, _ refusal: Refusal
  ) -> [Command] {
    if case .success(.body(let staged)) = result { store.discard(staged.body) }
    guard let pending = state.pending(awaiting: ticket) else { return [] }
    for body in pending.stagedBodies { store.discard(body) }
    let waiting = state.drop(pending)
    pending.refuse(refusal)
    return waiting
  }

  /// The commands to try again now: at the end of a rest, before any request that is tried during it, so that
  /// none overtakes them, and once more when the process ends.
  func takeKept(before commands: [Command]) -> [Command] {
    guard doubt == nil, store.damage == nil,
      !isResting || commands.contains(where: { $0.isRequest || $0.isEnd })
    else { return [] }
    defer { kept = [] }
    return kept
  }

  // MARK: A turn in doubt

  func comeIntoDoubt(_ doubt: Doubt, _ message: String) {
    self.doubt = doubt
    rest(.unsettled(turn: doubt.number, message: message))
  }

  /// Asks a reopened store whether the turn in doubt stands; the doubt stays while that cannot be known.
  func settleDoubt() {
    guard let doubt, !isResting else { return }
    do throws(StoreError) {
      let stands = try store.stands(doubt.number)
      self.doubt = nil
      storeRestsUntil = nil
      if stands {
        conclude(doubt.turn)
        return kept.insert(contentsOf: doubt.turn.released, at: 0)
      }
      let since = kept
      kept = []
      let error = StoreError.failed(code: 0, message: "the change was lost with a failed sync")
      let waiting = refuseOrKeep(doubt.commands, error)
      kept += waiting + since
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

  /// Starts of attempts are in the log and not synced (D35). When a sync that failed has taken some of them,
  /// everything in flight is taken back, as after a kill. False when that is in doubt itself.
  func takeBackLostStarts() throws(StoreError) -> Bool {
    guard store.turn < lastTurn else { return true }
    var turn = Turn(engine: self, now: clock.now())
    for attempt in state.flights.keys {
      turn.land(attempt)
      turn.then(.stop(attempt))
    }
    turn.state.sendings = [:]
    do throws(StoreError) {
      try store.write(durability: { turn.durability }) { try turn.takeBackRunning($0) }
    } catch .unsettled(let number, let message) {
      comeIntoDoubt(Doubt(turn: turn, commands: [], number: number), message)
      return false
    }
    conclude(turn)
    return true
  }

  // MARK: The rest of the store

  var isResting: Bool { storeRestsUntil.map { $0 > clock.now().steady } ?? false }

  /// Trouble is told once, and again when there was none in between. What fails while the store rests makes
  /// the rest no longer: it is the same trouble.
  func rest(_ error: StoreError) {
    if failedCommits == 0 && store.damage == nil {
      store.note(.error, "the database cannot be written; what would change it is refused", error.message)
    }
    guard !isResting else { return }
    failedCommits += 1
    storeRestsUntil = clock.now().steady + Backoff.ofStore.wait(afterFailures: failedCommits, fraction: 0.5)
  }

  /// When the store has rested for long enough, stores the diagnostics that could not be stored before. True
  /// when it did, which shows that something can be written.
  func endRest(now: Moment) -> Bool {
    if let storeRestsUntil, storeRestsUntil > now.steady { return false }
    storeRestsUntil = nil
    guard store.hasUnwrittenDiagnostics else { return false }
    do throws(StoreError) {
      try store.writeDiagnostics()
      return true
    } catch {
      store.meet(error)
      rest(error)
      return false
    }
  }

  /// A turn that left out nothing was written. As long as something is kept the trouble lasts.
  func storeIsWell() {
    guard kept.isEmpty else { return }
    if failedCommits > 0 { log.write(.warn, "the database can be written again") }
    failedCommits = 0
  }
}

extension Backoff {
  /// Between attempts to write to a store that failed: 1 s doubling to 60 s.
  static let ofStore = Backoff(baseMs: 1000, maxMs: 60_000, jitter: 0)
}

extension Command {
  /// The process is about to end.
  fileprivate var isEnd: Bool {
    switch self {
    case .finish, .giveUp: true
    default: false
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
