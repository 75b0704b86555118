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
    var keepsAwake = false
    var logForm = LogForm.text
    var logLevel = LogLevel.warn
  }

  static func run(_ options: Options) -> Int32 {
    let log = DescriptorLog(form: options.logForm, threshold: options.logLevel)
    do {
      let lock = try lockOrAttach(options, log)
      defer { lock.release() }
      var limits = WireLimits()
      limits.maxLine = options.maxLine
      let now = Moment(wall: SystemClock.wallTime(), steady: SystemClock.bootTime())
      let sidecar = try Sidecar(
        directory: lock.directory, version: CommandLineTool.version, limits: limits,
        watchesParent: options.watchesParent, virtualClock: options.isClockVirtual ? VirtualClock(now) : nil,
        log: log)
      greet(lock.directory, as: "owner", log)
      try startEngine(of: sidecar, now: now, log)
      try sidecar.serve(onDisconnect: options.onDisconnect, keepsAwake: options.keepsAwake)
      // Transfers, workers and the database need no farewell: what was answered is on disk.
      log.write(.info, "ended")
      log.flush()
      _exit(0)
    } catch let error as StoreError {
      log.end(error.message)
      return error.isLocked ? CommandLineTool.Status.temporaryFailure : CommandLineTool.Status.cannotCreate
    } catch {
      log.end("\(error)")
      return CommandLineTool.Status.internalError
    }
  }

  /// The lock; or, while another process serves the directory, a life as its relay, which never returns. A
  /// holder that does not serve is waited for.
  private static func lockOrAttach(_ options: Options, _ log: DescriptorLog) throws -> DirectoryLock {
    let deadline = SystemClock.bootTime() + patienceMs
    while true {
      if let lock = try lockIfFree(options.directory) { return lock }
      if let relay = Relay(
        to: options.directory, onDisconnect: options.onDisconnect, keepsAwake: options.keepsAwake,
        maxLine: options.maxLine,
        deadline: deadline, log: log)
      {
        greet(options.directory, as: "attached", log)
        try relay.run(watchesParent: options.watchesParent)
      }
      guard SystemClock.bootTime() < deadline else { throw StoreError.locked }
      usleep(20_000)
    }
  }

  private static func greet(_ directory: String, as role: String, _ log: DescriptorLog) {
    log.write(
      .info, "started",
      [
        .init("dir", directory), .init("version", CommandLineTool.version), .init("pid", Int64(getpid())),
        .init("role", role),
      ])
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
  private static func startEngine(of sidecar: Sidecar, now: Moment, _ log: DescriptorLog) throws {
    let virtual = sidecar.virtualClock
    var reading: (@Sendable () -> Moment)?
    if let virtual { reading = { virtual.atBoot() } }
    let store = try QueueStore(directory: sidecar.directory, now: now, reading: reading, log: log)
    virtual?.goOn(offset: store.steadyOffset, notBefore: store.lastWall)
    let thread = sidecar.engine
    let clock: any Clock = virtual ?? SystemClock(offset: store.steadyOffset)
    let transport = try CurlTransport { attempt, report in thread.submit(.report(attempt, report)) }
    let workers = StagingWorkers(store.stager) { ticket, result in thread.submit(.staged(ticket, result)) }
    let engine = try QueueEngine(
      store: store, transport: transport, clock: clock, randomness: SystemRandomness(),
      network: sidecar.detectedNetwork, log: log, stage: { workers.take($0) })
    try engine.recover()
    try workers.start()
    try sidecar.run(engine, offset: store.steadyOffset)
  }
}
