import Disk
import JSONText
import QueueEngine
import QueueModel
import QueueStore

/// One history: an engine over a real store on a disk that forgets, with hosts, servers and clocks that do
/// what the steps say. A process that dies is started again over what the disk kept.
final class World {
  let record: Record
  let clock = SimulatedClock()
  let transport: SimulatedTransport
  let folder: Folder
  let randomness: SimulatedRandomness
  private let desk = Desk()
  private var opened: Opened?
  private var dice: Dice
  private var boots = 1
  /// A log of so many bytes is copied into the database; nil leaves that to the product, which seldom does.
  private let copiedBeyond: Int?
  private(set) var hosts: [Int: Far] = [:]
  private var lastHostID: Int64 = 0
  private var calls = 0
  var batch: [Command] = []
  var isTogether = false
  var death: (kind: Step.Death, again: Int64?)?
  /// Outcomes that hosts were told of and have not acknowledged.
  var outcomes: [String] = []
  var secrets = 0
  /// Servers take no secret up to this number.
  var refused = 0
  private var checker: Checker

  struct Far {
    var id: HostID
    var host: SimulatedHost
  }

  private struct Opened {
    let store: QueueStore
    let engine: QueueEngine
  }

  init(seed: UInt64, folder: Folder, keepsText: Bool) {
    self.folder = folder
    record = Record(keepsText: keepsText)
    transport = SimulatedTransport(record)
    randomness = SimulatedRandomness(seed: seed)
    dice = Dice(seed: ~seed)
    copiedBeyond = dice.chance(1, in: 4) ? 40_000 << dice.below(4) : nil
    checker = Checker()
  }

  var engine: QueueEngine {
    guard let opened else { preconditionFailure("the process has ended") }
    return opened.engine
  }

  /// The database that every history begins with, and the folder of its bodies.
  static func makeTemplate(in folder: Folder) throws {
    let world = World(seed: 0, folder: folder, keepsText: false)
    try world.start(again: nil, isFirst: true)
    let settings = """
      {"retry":{"backoff":{"baseMs":1000,"maxMs":8000,"jitter":0.5},
      "transient":[{"status":418,"maxRetries":1}]}}
      """
    let change = try ConfigurationChange(reading: JSON(checking: Array(settings.utf8)))
    world.engine.process([.configure(change, from: HostID(0)) { _ in }])
    world.opened = nil
    disk_keep_template()
  }

  // MARK: Life of the process

  func begin() throws {
    disk_reset()
    folder.reset()
    try start(again: nil, isFirst: true)
    try connect(1, key: nil, window: 64)
  }

  private func start(again: Int64?, isFirst: Bool = false) throws {
    do {
      if let again { disk_plan(DISK_PROCESS_DIES, again, 1) }
      let store = try QueueStore(
        directory: folder.queue, now: clock.atBoot(), bootID: "boot-\(boots)",
        reading: { [clock] in clock.atBoot() }, log: SimulatedLog(record: record))
      if let copiedBeyond { store.idleLogLimit = copiedBeyond }
      clock.setOffset(store.steadyOffset)
      let engine = try QueueEngine(
        store: store, transport: transport, clock: clock, randomness: randomness,
        log: SimulatedLog(record: record), stage: { [desk] in desk.work.append($0) })
      opened = Opened(store: store, engine: engine)
      record.add(.time(clock.now()))
      try engine.recover()
    } catch {
      guard disk_process_is_dead() != 0 else { throw Broken(rule: "the queue cannot be opened: \(error)") }
    }
    if disk_process_is_dead() != 0 { return try end(.kill, again: nil) }
    try connect(0, key: nil, window: 1)
    if !isFirst { try call(.rows) }
  }

  /// The process has ended in this way, now or in the middle of its last turn; another one starts.
  func end(_ kind: Step.Death, again: Int64?) throws {
    record.add(.ended(kind))
    death = nil
    batch = []
    isTogether = false
    opened = nil
    transport.forgetAll()
    desk.forget()
    hosts = [:]
    disk_process_ends(kind.onDisk, dice.next())
    clock.advance(5000)
    if kind != .kill {
      boots += 1
      clock.beginBoot()
    }
    record.add(.started(isSame: kind == .kill))
    try start(again: again)
    if opened != nil, hosts[1] == nil, disk_process_is_dead() == 0 { try connect(1, key: nil, window: 64) }
  }

  func connect(_ number: Int, key: String?, window: Int) throws {
    if hosts[number] == nil {
      lastHostID += 1
      let far = Far(id: HostID(lastHostID), host: SimulatedHost(number, record))
      hosts[number] = far
      record.add(.connected(host: number))
      batch.append(.connected(far.id, far.host))
    }
    try call(.subscribe(host: number, key: key, window: window))
  }

  func disconnect(_ number: Int) throws {
    guard let far = hosts.removeValue(forKey: number) else { return }
    record.add(.disconnected(host: number))
    try run([.disconnected(far.id)])
  }

  // MARK: Turns

  /// One turn with these commands, then turns for what network and workers had to say.
  func run(_ commands: [Command]) throws {
    guard disk_process_is_dead() == 0 else { return }
    record.add(.time(clock.now()))
    engine.process(commands)
    try settle()
  }

  private static let turnLimit = 500

  private func settle() throws {
    for _ in 0..<World.turnLimit {
      if disk_process_is_dead() != 0 { break }
      let staged = desk.takeReady().map { work in
        Command.staged(
          work.ticket,
          StagingWorkers.result(of: work, by: opened!.store.stager, randomness))
      }
      let due = staged + transport.takeReports().map { Command.report($0.0, $0.1) }
      if due.isEmpty && !engine.hasMore && engine.tidy(idle: true) { break }
      engine.process(due)
    }
    collect()
    try check()
    if disk_process_is_dead() != 0 {
      let death = death ?? (.kill, nil)
      try end(death.kind, again: death.again)
    }
  }

  private func collect() {
    for number in hosts.keys.sorted() {
      for eventID in hosts[number]?.host.takeOutcomes() ?? [] where !outcomes.contains(eventID) {
        outcomes.append(eventID)
      }
    }
  }

  func check() throws {
    for happening in record.takePending() { try checker.take(happening) }
  }

  /// Ticks at each deadline that the engine names within the next `milliseconds`; ends there.
  func pass(_ milliseconds: Int64) throws {
    let end = clock.now().steady + milliseconds
    for _ in 0..<100 {
      let now = clock.now()
      let deadline = engine.deadline()
      let waits = [deadline.steady.map { $0 - now.steady }, deadline.wall.map { $0 - now.wall }]
      let wait = max(1, waits.compactMap(\.self).min() ?? .max)
      guard wait <= end - now.steady else { break }
      clock.advance(wait)
      try run([.tick])
    }
    clock.advance(max(0, end - clock.now().steady))
    try run([.tick])
  }

  var liveIDs: [String] { checker.liveIDs }

  var hasOpenCalls: Bool { !checker.open.isEmpty }

  var isDrained: Bool { engine.isDrained() && transport.running.isEmpty }

  // MARK: Workers

  func holdWorkers() { desk.isHeld = true }

  func letWorkersGo() throws {
    desk.isHeld = false
    try run([])
  }

  // MARK: Calls

  func nextCall(_ ask: Ask) -> Int {
    calls += 1
    record.add(.asked(calls, ask))
    return calls
  }

  func completion<Value>(_ number: Int, _ reaction: @escaping @Sendable (Value) -> Reaction) -> Completion<
    Value
  > {
    { [record] result in
      switch result {
      case .success(let value): record.hear(.answered(number, reaction(value)))
      case .failure(let refusal): record.hear(.answered(number, .refused(refusal)))
      }
    }
  }

  /// The command goes with others, or in a turn of its own.
  func submit(_ command: Command) throws {
    batch.append(command)
    if !isTogether { try flush() }
  }

  func flush() throws {
    isTogether = false
    guard !batch.isEmpty else { return }
    defer { batch = [] }
    try run(batch)
  }
}

extension Step.Death {
  fileprivate var onDisk: disk_end {
    switch self {
    case .kill: DISK_KILL
    case .powerCut: DISK_POWER_CUT
    case .reboot: DISK_REBOOT
    }
  }
}

/// Where the engine lays work for its workers down.
private final class Desk {
  var work: [StagingWork] = []
  var isHeld = false

  func takeReady() -> [StagingWork] {
    guard !isHeld else { return [] }
    defer { work = [] }
    return work
  }

  func forget() {
    work = []
    isHeld = false
  }
}
