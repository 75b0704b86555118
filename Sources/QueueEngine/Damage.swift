import QueueModel
import QueueStore

/// Life with a database in which damage was met: the process stays and answers, and sends nothing (D37).
extension QueueEngine {
  /// Stops sending, once. What was copied for hosts, or had not been committed, is refused.
  func stopForDamage() {
    guard store.damage != nil, !hasStoppedForDamage else { return }
    hasStoppedForDamage = true
    for attempt in state.flights.keys { transport.stop(attempt) }
    state.flights = [:]
    state.hasDueLeft = false
    let doubtful = takeDoubtful()
    for pending in state.stagings.values {
      // A turn in doubt may stand, and name them.
      if doubtful.isEmpty { for body in pending.stagedBodies { store.discard(body) } }
      pending.refuse(damageRefusal)
    }
    state.stagings = [:]
    let waiting = doubtful.filter(\.isRequest) + kept + state.lines.takeAll()
    kept = []
    state.lines = Lines()
    serveDamaged(waiting)
    for cancel in state.groupCancels { cancel.reply(.failure(damageRefusal)) }
    state.groupCancels = []
    state.unsorted = []
    serveDamaged(state.waitingForSweep)
    state.waitingForSweep = []
  }

  /// Answers what needs no change of the store; refuses the rest.
  func serveDamaged(_ commands: [Command]) {
    for command in commands where !answersByReading(command) {
      switch command {
      case .rows, .stats, .explain, .explainGroup: break
      case .diagnostics(let reply): reply(.success(store.takeUnwrittenDiagnostics()))
      case .staged(_, let result):
        if case .success(.body(let staged)) = result { store.discard(staged.body) }
      case .connected(let id, let host): state.connections[id] = ConnectionState(host: host)
      case .disconnected(let id): state.connections[id] = nil
      case .finish: state.isFinishing = true
      case .networkDetected, .noticed, .caughtUp, .report, .swept, .tick, .giveUp: break
      case .enqueue, .enqueueAll, .cancel, .cancelGroup, .retry, .pause, .resume, .setWifiOnly, .setNetwork,
        .updateHeaders, .configure, .subscribe, .unsubscribe, .acknowledge, .release:
        command.refuse(damageRefusal)
      }
    }
  }

  /// Answers a request that only reads, outside a transaction; false when it is no such request.
  func answersByReading(_ command: Command) -> Bool {
    if case .rows(let query, let reply) = command {
      read(reply) { () throws(StoreError) in try rows(query) }
    } else if case .stats(let reply) = command {
      read(reply) { () throws(StoreError) in try stats() }
    } else if case .explain(let id, let reply) = command {
      read(reply) { () throws(StoreError) in try explain(id) }
    } else if case .explainGroup(let group, let reply) = command {
      read(reply) { () throws(StoreError) in try explain(group) }
    } else {
      return false
    }
    return true
  }

  /// Answers with what is read; damage that it meets is remembered.
  func read<Value: Sendable>(_ reply: Completion<Value>, _ work: () throws(StoreError) -> Value) {
    do throws(StoreError) {
      reply(.success(try work()))
    } catch {
      store.meet(error)
      reply(.failure(.storage(error.message)))
    }
  }

  private var damageRefusal: Refusal {
    .storage("it is damaged, and nothing is sent until the next start; \(store.damage?.message ?? "")")
  }
}
