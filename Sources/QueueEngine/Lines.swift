import QueueModel
import QueueStore

/// Keeps requests about one id in the order in which they came, while some of them wait for a worker
/// (protocol.md section 1): a request that concerns an id which is taken, or which an earlier one waits for,
/// waits as well. All others go on.
struct Lines {
  /// Ids of the enqueues that a worker has.
  private var held: Set<EntryID> = []
  /// In the order in which they came, each with the ids that it concerns.
  private(set) var waiting: [(command: Command, ids: [EntryID])] = []
  private var waitedFor: Set<EntryID> = []

  /// Nothing is held, and so nothing waits.
  var isEmpty: Bool { held.isEmpty }

  func isBusy(_ ids: [EntryID]) -> Bool {
    !isEmpty && ids.contains { held.contains($0) || waitedFor.contains($0) }
  }

  mutating func hold(_ ids: [EntryID]) { held.formUnion(ids) }

  mutating func wait(_ command: Command, for ids: [EntryID]) {
    waiting.append((command, ids))
    waitedFor.formUnion(ids)
  }

  /// The ids are held no longer. What waited, to be decided anew in this order: whatever is still held up
  /// waits again. Empty when nothing waited for these.
  mutating func letGo(_ ids: [EntryID]) -> [Command] {
    held.subtract(ids)
    return waitedFor.isDisjoint(with: ids) ? [] : takeAll()
  }

  /// Everything that waits, in order.
  mutating func takeAll() -> [Command] {
    defer {
      waiting = []
      waitedFor = []
    }
    return waiting.map(\.command)
  }
}

extension Turn {
  /// Decides what had waited, in the order in which it came.
  mutating func release(_ waiting: [Command], _ writer: Writer) throws(StoreError) {
    if isAlone { return released += waiting }
    for command in waiting { try decide(command, writer) }
  }

  /// Carries the command out, or has it wait for those before it that concern the same ids.
  mutating func decide(_ command: Command, _ writer: Writer) throws(StoreError) {
    let command = command.stamped(with: state.gates.headerRevision)
    let ids = state.lines.isEmpty ? [] : try ids(of: command, writer)
    if state.lines.isBusy(ids) {
      state.lines.wait(command, for: ids)
    } else {
      try carryOut(command, writer)
    }
  }

  /// The ids whose requests keep their order with this one.
  private func ids(of command: Command, _ writer: Writer) throws(StoreError) -> [EntryID] {
    switch command {
    case .enqueue(let enqueue, _, _): return [enqueue.id]
    case .enqueueAll(let enqueues, _, _): return enqueues.map(\.id)
    case .cancel(let id, _), .retry(let id, _): return [id]
    case .acknowledge(let eventIDs, _, _), .release(let eventIDs, _, _):
      var ids: [EntryID] = []
      for eventID in eventIDs {
        if case .entry(let outcome) = try writer.outcome(eventID: eventID)?.record { ids.append(outcome.id) }
      }
      return ids
    case .cancelGroup(let group, _): return state.incomingIDs(of: group)
    case .connected, .disconnected, .caughtUp, .pause, .resume, .setWifiOnly, .setNetwork, .updateHeaders,
      .configure, .subscribe, .unsubscribe, .rows, .diagnostics, .stats, .explain, .explainGroup,
      .networkDetected, .noticed, .staged, .report, .swept, .tick, .finish, .giveUp:
      return []
    }
  }
}

extension Command {
  /// A patch that comes while an enqueue waits, or its body is staged, is newer than the headers of the call.
  fileprivate func stamped(with headerRevision: Int64) -> Command {
    func stamped(_ enqueue: Enqueue, _ host: HostID) -> Enqueue {
      var enqueue = enqueue
      enqueue.host = host
      enqueue.headerRevision = enqueue.headerRevision ?? headerRevision
      return enqueue
    }
    return switch self {
    case .enqueue(let enqueue, let host, let reply): .enqueue(stamped(enqueue, host), from: host, reply)
    case .enqueueAll(let enqueues, let host, let reply):
      .enqueueAll(enqueues.map { stamped($0, host) }, from: host, reply)
    default: self
    }
  }

  /// The enqueues in it.
  var enqueues: [Enqueue] {
    switch self {
    case .enqueue(let enqueue, _, _): [enqueue]
    case .enqueueAll(let enqueues, _, _): enqueues
    default: []
    }
  }
}
