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
      Option(
        "dir", "DIR", "the queue's directory; made when it is not there", kind: .directory, isRequired: true),
      Option("max-line", "BYTES", "longest line that is read (default \(WireLimits().maxLine))"),
      Option(
        "on-disconnect", "exit|drain|stay:SECONDS",
        "when the last host is gone: stop transfers, keep all state, exit (the default); or go on until "
          + "nothing is left to send; or that, but at most so long"),
      Option("no-parent-watch", nil, "do not end when the parent process has ended"),
      Option("keep-awake", nil, "keep the machine from going to sleep while requests are sent (by logind)"),
      Option("log-level", "error|warn|info|debug", "what is told on stderr (default warn)"),
      Option("log-format", "text|json", "a line for people (the default), or a JSON object a line"),
      Option("virtual-clock", nil, "for tests: the queue's clock stands still, and advanceClock moves it"),
    ],
    about: """
      Owns the queue in DIR, sends what is in it, and speaks JSON-RPC 2.0, one object a line,
      on stdin and stdout. Beside a process that owns it already, it reaches the queue
      through that one.
      """,
    examples: ["outtray serve --dir ./queue --on-disconnect drain"],
    run: { arguments, _ throws(Failure) in run(try Options(arguments)) })

  struct Options {
    var directory = ""
    var maxLine = WireLimits().maxLine
    var onDisconnect = OnDisconnect.exit
    var watchesParent = true
    var isClockVirtual = false
    var keepsAwake = false
    var logForm = LogForm.text
    var logLevel = LogLevel.warn

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
      keepsAwake = arguments.has("keep-awake")
      logLevel = try Options.choice("log-level", arguments) ?? logLevel
      logForm = try Options.choice("log-format", arguments) ?? logForm
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

    /// One of the raw values of `Value`.
    private static func choice<Value: RawRepresentable & CaseIterable>(
      _ option: String, _ arguments: Arguments
    ) throws(Failure) -> Value? where Value.RawValue == String {
      guard let text = arguments.value(option) else { return nil }
      guard let value = Value(rawValue: text) else {
        let names = Value.allCases.map(\.rawValue).joined(separator: ", ")
        throw .usage("--\(option): must be one of \(names)")
      }
      return value
    }
  }

  private static func run(_ options: Options) -> Never {
    CalmWatch.keepLittle()
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
      CalmWatch.letGoOfTheStart()
      try sidecar.serve(onDisconnect: options.onDisconnect, keepsAwake: options.keepsAwake)
      // Transfers, workers and the database need no farewell: what was answered is on disk.
      log.write(.info, "ended")
      log.flush()
      _exit(0)
    } catch {
      end(Failure(of: error), log)
    }
  }

  private static func end(_ failure: Failure, _ log: DescriptorLog) -> Never {
    log.end(failure.message)
    exit(failure.status)
  }

  /// The lock; or, while another process serves the directory, a life as its relay, which never returns. A
  /// holder that does not serve is waited for.
  private static func lockOrAttach(_ options: Options, _ log: DescriptorLog) throws -> DirectoryLock {
    let deadline = SystemClock.bootTime() + patienceMs
    while true {
      if let lock = try lockIfFree(options.directory) { return lock }
      if let relay = Relay(
        to: options.directory, onDisconnect: options.onDisconnect, keepsAwake: options.keepsAwake,
        maxLine: options.maxLine, deadline: deadline, log: log)
      {
        greet(options.directory, as: "attached", log)
        CalmWatch.letGoOfTheStart()
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

  /// Opens the store here, so that a directory that cannot be used is known before the first answer.
  private static func startEngine(of sidecar: Sidecar, now: Moment, _ log: DescriptorLog) throws {
    let virtual = sidecar.virtualClock
    var reading: (@Sendable () -> Moment)?
    if let virtual { reading = { virtual.atBoot() } }
    let store = try QueueStore(directory: sidecar.directory, now: now, reading: reading, log: log)
    virtual?.goOn(offset: store.steadyOffset, notBefore: store.lastWall)
    let thread = sidecar.engine
    let clock: any Clock = virtual ?? SystemClock(offset: store.steadyOffset)
    let transport = try CurlTransport { attempt, report in thread.submit(.report(attempt, report)) }
    try sidecar.startEngine(on: store) { stage throws(StoreError) in
      try QueueEngine(
        store: store, transport: transport, clock: clock, randomness: SystemRandomness(),
        network: sidecar.detectedNetwork, log: log, stage: stage)
    }
  }
}
