import Glibc
import HTTPTransport
import QueueEngine
import QueueModel
import QueueStore
import SidecarServer

/// `outtray serve`: builds the parts and runs them.
enum Serve {
  struct Options {
    var directory = ""
    var maxLine = WireLimits().maxLine
    var onDisconnect = OnDisconnect.exit
    var watchesParent = true
    var isClockVirtual = false
  }

  static func run(_ options: Options) -> Int32 {
    do {
      let lock = try lockOrAttach(options)
      defer { lock.release() }
      var limits = WireLimits()
      limits.maxLine = options.maxLine
      let now = Moment(wall: SystemClock.wallTime(), steady: SystemClock.bootTime())
      let sidecar = try Sidecar(
        directory: lock.directory, version: CommandLineTool.version, limits: limits,
        watchesParent: options.watchesParent, virtualClock: options.isClockVirtual ? VirtualClock(now) : nil)
      try startEngine(of: sidecar, now: now)
      try sidecar.serve(onDisconnect: options.onDisconnect)
      // Transfers, workers and the database need no farewell: what was answered is on disk.
      _exit(0)
    } catch let error as StoreError {
      CommandLineTool.complain(error.message)
      return error.isLocked ? CommandLineTool.Status.temporaryFailure : CommandLineTool.Status.cannotCreate
    } catch {
      CommandLineTool.complain("\(error)")
      return CommandLineTool.Status.internalError
    }
  }

  /// The lock; or, while another process serves the directory, a life as its relay, which never returns. A
  /// holder that does not serve is waited for.
  private static func lockOrAttach(_ options: Options) throws -> DirectoryLock {
    let deadline = SystemClock.bootTime() + patienceMs
    while true {
      if let lock = try lockIfFree(options.directory) { return lock }
      if let relay = Relay(
        to: options.directory, onDisconnect: options.onDisconnect, maxLine: options.maxLine,
        deadline: deadline)
      {
        try relay.run(watchesParent: options.watchesParent)
      }
      guard SystemClock.bootTime() < deadline else { throw StoreError.locked }
      usleep(20_000)
    }
  }

  private static func lockIfFree(_ directory: String) throws(StoreError) -> DirectoryLock? {
    do {
      return try DirectoryLock(directory)
    } catch {
      guard error.isLocked else { throw error }
      return nil
    }
  }

  /// How long a first reply, or the lock, is waited for.
  private static let patienceMs: Int64 = 5000

  /// Opens the store here, so that a directory that cannot be used is known before the first answer, and
  /// hands the engine to a thread of its own.
  private static func startEngine(of sidecar: Sidecar, now: Moment) throws {
    let virtual = sidecar.virtualClock
    var reading: (@Sendable () -> Moment)?
    if let virtual { reading = { virtual.atBoot() } }
    let store = try QueueStore(directory: sidecar.directory, now: now, reading: reading)
    virtual?.goOn(offset: store.steadyOffset, notBefore: store.lastWall)
    let thread = sidecar.engine
    let clock: any Clock = virtual ?? SystemClock(offset: store.steadyOffset)
    let transport = try CurlTransport { attempt, report in thread.submit(.report(attempt, report)) }
    let workers = StagingWorkers(store.stager) { ticket, result in thread.submit(.staged(ticket, result)) }
    let engine = try QueueEngine(
      store: store, transport: transport, clock: clock, randomness: SystemRandomness(),
      network: sidecar.detectedNetwork, stage: { workers.take($0) })
    try engine.recover()
    try workers.start()
    try sidecar.run(engine, offset: store.steadyOffset)
  }
}
