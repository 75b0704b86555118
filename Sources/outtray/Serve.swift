import Console
import Glibc
import HTTPTransport
import QueueEngine
import QueueModel
import QueueStore
import SidecarServer

/// `outtray serve`: builds the parts and runs them.
enum Serve {
  static let command = Command(
    "serve", "own a queue and speak JSON-RPC 2.0 on stdin and stdout",
    options: [
      Option("dir", "DIR", "the queue's directory; made when it is not there", kind: .directory),
      Option("max-line", "BYTES", "longest line that is read (default \(WireLimits().maxLine))"),
      Option(
        "on-disconnect", "exit|drain|stay:SECONDS",
        "when the last host is gone: stop transfers, keep all state, exit (the default); or go on until "
          + "nothing is left to send; or that, but at most so long"),
      Option("no-parent-watch", nil, "do not end when the parent process has ended"),
      Option("virtual-clock", nil, "for tests: the queue's clock stands still, and advanceClock moves it"),
    ],
    about: """
      Owns the queue in DIR, sends what is in it, and speaks JSON-RPC 2.0, one object a line,
      on stdin and stdout. Beside a process that owns it already, it reaches the queue
      through that one.
      """,
    examples: ["outtray serve --dir ./queue --on-disconnect drain"],
    run: { arguments, _ throws(Failure) in try run(try Options(arguments)) })

  struct Options {
    var directory = ""
    var maxLine = WireLimits().maxLine
    var onDisconnect = OnDisconnect.exit
    var watchesParent = true
    var isClockVirtual = false

    init(_ arguments: Arguments) throws(Failure) {
      maxLine = try Options.maxLine(arguments) ?? maxLine
      if let text = arguments.value("on-disconnect") {
        guard let wish = OnDisconnect(text) else {
          throw .usage("--on-disconnect: must be exit, drain or stay:SECONDS")
        }
        onDisconnect = wish
      }
      watchesParent = !arguments.has("no-parent-watch")
      isClockVirtual = arguments.has("virtual-clock")
      directory = arguments.value("dir") ?? ""
      guard !directory.isEmpty else { throw .usage("--dir: is required") }
    }

    private static func maxLine(_ arguments: Arguments) throws(Failure) -> Int? {
      guard let text = arguments.value("max-line") else { return nil }
      guard let bytes = Int(text), (1024...(1 << 30)).contains(bytes) else {
        throw .usage("--max-line: must be a number of bytes from 1024 to 1073741824")
      }
      return bytes
    }
  }

  private static func run(_ options: Options) throws(Failure) -> Never {
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
      throw Failure(error)
    } catch {
      throw Failure(Status.internalError, "\(error)")
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
