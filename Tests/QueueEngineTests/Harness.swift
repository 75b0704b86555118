import Foundation
import QueueModel
import QueueStore
import Testing

@testable import QueueEngine

/// An engine over a real store in a directory of its own, with a transport that does what the test says and
/// clocks that the test moves. Staging runs at once, on the test's thread, unless it is held.
final class Harness {
  let directory: String
  let clock = ManualClock()
  let transport = ScriptedTransport()
  let randomness: SeededRandomness
  private let log: any Log
  private let desk = StagingDesk()
  private var opened: Opened?
  private(set) var host = RecordingHost()
  private(set) var hostID = HostID(1)
  private var lastHost: Int64 = 1
  private var bootNumber = 1

  /// Memory where there is a file system of it: what a sync promises is the store's to test, and it is slow.
  private static let parent =
    FileManager.default.isWritableFile(atPath: "/dev/shm") ? "/dev/shm/" : NSTemporaryDirectory()

  private struct Opened {
    let store: QueueStore
    let engine: QueueEngine
  }

  init(seed: UInt64 = 1, log: any Log = SilentLog()) throws {
    self.log = log
    directory = Harness.parent + "outtray-engine-" + UUID().uuidString
    randomness = SeededRandomness(seed: seed)
    try start()
  }

  deinit {
    opened = nil
    try? FileManager.default.removeItem(atPath: directory)
    try? FileManager.default.removeItem(atPath: sources)
  }

  /// Where `source` puts files.
  var sources: String { directory + "-sources" }

  var engine: QueueEngine {
    guard let opened else { preconditionFailure("the process has ended") }
    return opened.engine
  }

  var store: QueueStore {
    guard let opened else { preconditionFailure("the process has ended") }
    return opened.store
  }

  private func start(connects: Bool = true, sends: Bool = true) throws {
    let store = try QueueStore(
      directory: directory, now: clock.atBoot(), bootID: "boot-\(bootNumber)", log: log)
    clock.setOffset(store.steadyOffset)
    let engine = try QueueEngine(
      store: store, transport: transport, clock: clock, randomness: randomness, log: log, sends: sends,
      stage: { [desk] in desk.take($0) })
    opened = Opened(store: store, engine: engine)
    try engine.recover()
    if connects { send(.connected(hostID, host)) }
  }

  /// The process dies between two turns; `downtime` ms later it starts over the same directory. The store
  /// notes real time with each commit: a downtime below what the test takes would move queue time.
  ///
  /// - Parameters:
  ///   - connects: False leaves it at what the start itself did: no turn has run yet.
  ///   - sends: False is a process that only changes the queue.
  func relaunch(downtime: Int64 = 60_000, connects: Bool = true, sends: Bool = true) throws {
    transport.forgetAll()
    desk.forgetAll()
    opened = nil
    clock.advance(downtime)
    lastHost += 1
    hostID = HostID(lastHost)
    host = RecordingHost()
    try start(connects: connects, sends: sends)
  }

  /// The system starts anew, and with it CLOCK_BOOTTIME; no time passes meanwhile by the wall clock.
  func reboot() throws {
    bootNumber += 1
    clock.beginBoot()
    try relaunch(downtime: 0)
  }

  /// Another connection to the same engine.
  func connect() -> (id: HostID, host: RecordingHost) {
    lastHost += 1
    let host = RecordingHost()
    send(.connected(HostID(lastHost), host))
    return (HostID(lastHost), host)
  }

  // MARK: Turns

  /// One turn with these commands, then turns for what the transport and workers had to say.
  func send(_ commands: Command...) { send(commands) }

  func send(_ commands: [Command]) {
    engine.process(commands)
    settle()
  }

  /// Turns until nothing is left to do at this moment.
  func settle() {
    for _ in 0..<Harness.turnLimit {
      let staged = desk.takeReady().map { work in
        Command.staged(work.ticket, StagingWorkers.result(of: work, by: store.stager, randomness))
      }
      let due = staged + transport.takeReports().map { Command.report($0.0, $0.1) }
      if due.isEmpty && !engine.hasMore && engine.tidy(idle: true) { return }
      engine.process(due)
    }
    Issue.record("the engine finds no rest")
  }

  private static let turnLimit = 5000

  /// Moves both clocks and ticks.
  func advance(_ milliseconds: Int64) {
    clock.advance(milliseconds)
    send(.tick)
  }

  /// Ticks at each deadline that the engine names within the next `milliseconds`; ends there.
  func pass(_ milliseconds: Int64) {
    let end = clock.now().steady + milliseconds
    for _ in 0..<Harness.turnLimit {
      let now = clock.now()
      let deadline = engine.deadline()
      let waits = [deadline.steady.map { $0 - now.steady }, deadline.wall.map { $0 - now.wall }]
      let wait = max(1, waits.compactMap(\.self).min() ?? .max)
      guard wait <= end - now.steady else { break }
      advance(wait)
    }
    clock.advance(end - clock.now().steady)
    send(.tick)
  }

  // MARK: Staging

  func holdStaging() { desk.isHeld = true }

  var heldStaging: Int { desk.count }

  /// The oldest held work is done; turns follow.
  func stageOne() {
    desk.releaseOne()
    settle()
  }

  /// The workers go on; turns follow.
  func releaseStaging() {
    desk.isHeld = false
    settle()
  }
}

/// Where the engine lays work for the workers down.
private final class StagingDesk {
  private var work: [StagingWork] = []
  private var released = 0
  var isHeld = false

  var count: Int { work.count }

  func take(_ item: StagingWork) { work.append(item) }

  func releaseOne() { released += 1 }

  func takeReady() -> [StagingWork] {
    let count = isHeld ? min(released, work.count) : work.count
    released = 0
    defer { work.removeFirst(count) }
    return Array(work.prefix(count))
  }

  func forgetAll() {
    work = []
    released = 0
    isHeld = false
  }
}
