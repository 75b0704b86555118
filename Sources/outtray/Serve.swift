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
    var watchesParent = true
    var isClockVirtual = false
  }

  static func run(_ options: Options) -> Int32 {
    var limits = WireLimits()
    limits.maxLine = options.maxLine
    do {
      let lock = try DirectoryLock(options.directory)
      defer { lock.release() }
      let now = Moment(wall: SystemClock.wallTime(), steady: SystemClock.bootTime())
      let sidecar = try Sidecar(
        directory: lock.directory, version: CommandLineTool.version, limits: limits,
        watchesParent: options.watchesParent, virtualClock: options.isClockVirtual ? VirtualClock(now) : nil)
      try startEngine(of: sidecar, now: now)
      try sidecar.serve()
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
      stage: { workers.take($0) })
    try engine.recover()
    try workers.start()
    try sidecar.run(engine, offset: store.steadyOffset)
  }
}
