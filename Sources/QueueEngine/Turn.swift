import QueueModel
import QueueStore

/// One batch of commands on its way into the store: a copy of the state to work on, and what to do once the
/// commit stands. Thrown away when the commit fails, so that no effect of it was ever seen.
struct Turn {
  let engine: QueueEngine
  let now: Moment
  var state: EngineState
  /// What the store must promise before the effects run (D35).
  private(set) var durability = Durability.none
  /// In the order in which they run.
  private var effects: [Effect] = []
  /// Answers that read what is committed. They run last: a row that they tell is newer than every event of
  /// the turn.
  private var reads: [() -> Void] = []
  /// Entries that this turn wrote, as they stand: a change of the gates in the same turn concerns them as
  /// well.
  private(set) var written: [Int64: Entry] = [:]
  /// Outcomes that this turn has journaled, as they stand in the journal: most of them go out with it.
  var journaled: [Int64: JournaledOutcome] = [:]
  /// Lanes that are to go on once the entries of a call are all written; nil lets them go on at once.
  var lanesHeldBack: [Lane]?

  /// With no other work than that of its commands.
  let isAlone: Bool
  /// What had waited for a command of a turn that is alone, and is decided after it.
  var released: [Command] = []

  /// Groups that this turn has changed.
  var groupsToTell: Set<EntryGroup> = []

  enum Effect {
    case answer(() -> Void)
    case start(Transmission)
    case stop(AttemptID)
    case configure(ConnectionSettings)
    case limit(Bandwidth)
    case tell(HostID, HostEvent)
    case stage(StagingWork)
    case discard(StagedBody)
    case removeMoved
    case log(LogLine)
  }

  init(engine: QueueEngine, now: Moment, isAlone: Bool = false) {
    self.engine = engine
    self.now = now
    self.isAlone = isAlone
    state = engine.state
  }

  var wrote: Bool { durability != .none }

  /// Something is answered or told after this commit, so it has to be synced.
  mutating func mustSync() { durability = .synced }

  /// The start of an attempt has to be in the log, no more (D35).
  mutating func mustBeLogged() {
    if durability == .none { durability = .logged }
  }

  mutating func then(_ effect: Effect) { effects.append(effect) }

  mutating func answer<Value: Sendable>(_ reply: @escaping Completion<Value>, _ value: Value) {
    effects.append(.answer { reply(.success(value)) })
  }

  mutating func refuse<Value: Sendable>(_ reply: @escaping Completion<Value>, _ refusal: Refusal) {
    effects.append(.answer { reply(.failure(refusal)) })
  }

  /// What is logged has happened, so it is written after the commit as well.
  mutating func log(_ level: LogLevel, _ line: @autoclosure () -> LogLine) {
    if engine.log.wants(level) { then(.log(line())) }
  }

  /// Runs the effects, in order, after the commit, and then the reads.
  func act() {
    for effect in effects {
      switch effect {
      case .answer(let answer): answer()
      case .start(let transmission): engine.transport.start(transmission)
      case .stop(let attempt): engine.transport.stop(attempt)
      case .configure(let settings): engine.transport.configure(settings)
      case .limit(let bandwidth): engine.transport.limit(bandwidth)
      case .tell(let host, let event): state.connections[host]?.host.receive(event)
      case .stage(let work): engine.stage(work)
      case .discard(let body): engine.store.discard(body)
      case .removeMoved: engine.store.removeMoved()
      case .log(let line): engine.log.write(line)
      }
    }
    for read in reads { read() }
  }

  mutating func carryOut(_ command: Command, _ writer: Writer) throws(StoreError) {
    switch command {
    case .connected(let id, let host): state.connections[id] = ConnectionState(host: host)
    case .disconnected(let id): try disconnect(id, writer)
    case .caughtUp(let id): try walk(id, writer)
    case .enqueue(let enqueue, _, let reply): try self.enqueue(enqueue, reply, writer)
    case .enqueueAll(let enqueues, _, let reply): try enqueueAll(enqueues, reply, writer)
    case .cancel(let id, let reply): try cancel(id, reply, writer)
    case .cancelGroup(let group, let reply): try cancel(group, reply, writer)
    case .retry(let id, let reply): try retry(id, reply, writer)
    case .pause(let scope, let reply): try pause(scope, reply, writer)
    case .resume(let scope, let reply): try resume(scope, reply, writer)
    case .setWifiOnly(let wifiOnly, let reply): try setWifiOnly(wifiOnly, reply, writer)
    case .setNetwork(let network, let from, let reply):
      try setNetwork(network, from: from, reply, writer)
    case .updateHeaders(let headers, let keys, let origin, let reply):
      try updateHeaders(headers, keys: keys, origin: origin, reply, writer)
    case .configure(let change, let from, let reply): try configure(change, from: from, reply, writer)
    case .subscribe(let subscription, let from, let reply): subscribe(subscription, from: from, reply)
    case .unsubscribe(let from, let reply): unsubscribe(from: from, reply)
    case .acknowledge(let eventIDs, _, let reply): try acknowledge(eventIDs, reply, writer)
    case .release(let eventIDs, let from, let reply): release(eventIDs, from: from, reply)
    case .rows(let query, let reply):
      answerLater(reply) { [engine] () throws(StoreError) in try engine.rows(query) }
    case .stats(let reply): answerLater(reply) { [engine] () throws(StoreError) in try engine.stats() }
    case .explain(let id, let reply):
      answerLater(reply) { [engine] () throws(StoreError) in try engine.explain(id) }
    case .explainGroup(let group, let reply):
      answerLater(reply) { [engine] () throws(StoreError) in try engine.explain(group) }
    case .diagnostics(let reply): try takeDiagnostics(command, reply, writer)
    case .networkDetected(let network, let isNewRoute):
      try networkDetected(network, isNewRoute: isNewRoute, writer)
    case .noticed(let level, let message, let error):
      mustSync()
      try writer.addDiagnostic(
        Diagnostic(at: now.wall, level: level, message: message, error: error), isBoot: false)
    case .swept(let report, let boot): try swept(report, boot, writer)
    case .staged(let ticket, let result): try staged(ticket, result, writer)
    case .report(let attempt, let report): try self.report(attempt, report, writer)
    case .tick: try tellHeldBackProgress()
    case .finish: state.isFinishing = true
    case .giveUp: try giveUp(writer)
    }
  }

  /// A read answers from what is committed, so it runs after the commit of its turn.
  private mutating func answerLater<Value: Sendable>(
    _ reply: @escaping Completion<Value>, _ read: @escaping () throws(StoreError) -> Value
  ) {
    reads.append { [engine] in engine.read(reply, read) }
  }

  // MARK: The one write path of an entry

  /// One of several that were read together: the end of one changes the next when that follows it in a lane.
  func current(_ found: Entry) -> Entry { written[found.number] ?? found }

  /// Writes what a transition decided about an entry that exists, and takes over its effects.
  mutating func apply(_ decision: Decision, from old: Entry, _ writer: Writer) throws(StoreError) {
    if decision.releasesBody { try writer.release(old.body, of: old.number) }
    try writer.update(decision.entry, from: old)
    try follow(decision, writer)
  }

  /// Writes a new entry.
  ///
  /// - Parameter body: The bytes of a body whose place is the row.
  mutating func insert(_ decision: Decision, body: [UInt8]?, _ writer: Writer) throws(StoreError) {
    try writer.insert(decision.entry, body: body)
    try follow(decision, writer)
  }

  private mutating func follow(_ decision: Decision, _ writer: Writer) throws(StoreError) {
    let entry = decision.entry
    if let outcome = decision.outcome { try journal(.entry(outcome), writer) }
    written[entry.number] = entry
    // The entry may have moved to another key, whose pause is the one that counts from now on (D6).
    for attempt in entry.attemptsInFlight {
      state.flights[attempt]?.key = entry.key
      state.flights[attempt]?.group = entry.group
    }
    for effect in decision.effects {
      switch effect {
      case .stop(let attempt):
        land(attempt)
        then(.stop(attempt))
      case .attempt(let event):
        tell(.attempt, about: entry.key, .attempt(event))
        log(.info, LogLine(event, origin: entry.origin))
      case .progress(let bytesSent):
        tell(
          .progress, about: entry.key,
          .progress(id: entry.id, bytesSent: bytesSent, totalBytes: entry.totalBytes))
      case .state: tellState(of: entry)
      }
    }
    if let outcome = decision.outcome { log(.info, LogLine(outcome)) }
    switch entry.state {
    case .running: mustBeLogged()
    // Parts that begin need no more; what came of one is an answer.
    case .sending where !decision.effects.contains(where: \.tellsOfAnAttempt): mustBeLogged()
    case .sending, .queued, .held, .awaitingAuth, .settled: mustSync()
    }
    noteSending(of: entry)
    if let outcome = decision.outcome { try ended(entry, outcome, writer) }
  }

  mutating func journal(_ record: Record, _ writer: Writer) throws(StoreError) {
    let journaled = try writer.append(record)
    self.journaled[journaled.number] = journaled
    for id in state.connections.keys { state.connections[id]?.mayHaveMore = true }
  }

  /// Between two parts an entry may be queued for a moment; its progress goes on as it was.
  private mutating func noteSending(of entry: Entry) {
    guard state.sendings[entry.number] != nil else { return }
    switch entry.state {
    case .running, .sending: break
    case .queued(let wait)
    where entry.parts != nil && !wait.isBackoff && !state.gates.isPaused(entry): break
    case .queued, .held, .awaitingAuth, .settled: state.sendings[entry.number] = nil
    }
    state.sendings[entry.number]?.key = entry.key
    state.sendings[entry.number]?.group = entry.group
    state.sendings[entry.number]?.weight = entry.weightInGroup
    state.sendings[entry.number]?.storedBytes = entry.bytesSent
    state.sendings[entry.number]?.acceptedBytes = entry.parts?.acceptedBytes ?? 0
  }

  /// The attempt is no longer in the transport's hands.
  mutating func land(_ attempt: AttemptID) {
    guard let flight = state.flights.removeValue(forKey: attempt) else { return }
    state.slots.freed(flight.priority, attempt, to: flight.origin, wasQuiet: flight.isQuiet)
    state.sendings[attempt.entry]?.bytesInFlight -= flight.bytesSent
  }

  // MARK: Telling hosts

  mutating func tellState(of entry: Entry) {
    let listeners = listeners(of: .state, about: entry.key)
    guard !listeners.isEmpty else { return }
    let row = Row(entry, gates: state.gates, now: now)
    for id in listeners { then(.tell(id, .state(row))) }
  }

  mutating func tell(_ kind: Subscription.Kind, about key: EntryKey, _ event: HostEvent) {
    for id in listeners(of: kind, about: key) { then(.tell(id, event)) }
  }

  private func listeners(of kind: Subscription.Kind, about key: EntryKey) -> [HostID] {
    var listeners: [HostID] = []
    for (id, connection) in state.connections {
      guard let subscription = connection.subscription, subscription.kinds.contains(kind),
        subscription.covers(key)
      else { continue }
      listeners.append(id)
    }
    return listeners
  }

  /// Every connection is to be told of the rows that a change of the gates moved: those of this turn at once,
  /// the others by a walk (D1).
  ///
  /// - Parameter told: Numbers of entries whose own change, made since, has told of it.
  mutating func gatesChanged(
    from before: Gates, told: Set<Int64> = [], _ writer: Writer
  ) throws(StoreError) {
    mustSync()
    state.groupWalk = 0
    for entry in written.values.sorted(by: { $0.number < $1.number })
    where !told.contains(entry.number) && before.standing(of: entry) != state.gates.standing(of: entry) {
      tellState(of: entry)
    }
    let change = StateWalk.Change(before: before, turn: writer.turn)
    let last = writer.lastNumber
    for (id, connection) in state.connections where connection.subscription?.kinds.contains(.state) == true {
      state.connections[id]?.walk.begin(change, through: last)
      try walk(id, writer)
    }
  }
}

extension QueueModel.Effect {
  fileprivate var tellsOfAnAttempt: Bool {
    switch self {
    case .attempt, .stop: true
    case .progress, .state: false
    }
  }
}
