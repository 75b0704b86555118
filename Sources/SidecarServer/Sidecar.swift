import CLinux
import Glibc
import JSONRPC
import JSONText
import OuttrayProtocol
package import QueueEngine
package import QueueModel

/// The process as its hosts see it: requests to the engine, events back, and an end in bounded time. Lives on
/// the loop's thread.
package final class Sidecar {
  package let engine: EngineThread
  package let directory: String
  let version: String
  let limits: WireLimits
  /// With --virtual-clock; nil goes by the machine's.
  package let virtualClock: VirtualClock?
  let randomness = SystemRandomness()
  let log: any Log
  private let loop: EventLoop
  private let waker: Waker
  private let timers: Timers
  private let signals: Signals
  private let hosts: Hosts
  private let network: NetworkWatch
  /// At work once a host has asked for it.
  let awake: AwakeLock
  private var ending: Ending?
  /// Without hosts until this time, boot clock in ms, or until nothing is left to do.
  private var aloneUntil: Int64?
  private let drain = DrainWatch()
  private let calm: CalmWatch
  private weak var owner: HostSession?
  private let engineEnded: Waker
  private var isRunning = false

  /// Why the process ends, and what it still waits for.
  private struct Ending {
    /// Boot clock, ms: after it nothing is waited for.
    var deadline: Int64
    /// Copies that had not ended in time were given up.
    var gaveUp = false
  }

  /// SIGINT is the person's at the terminal; else it reaches the whole group and the host decides. Asked
  /// before the wire takes descriptor 0 away.
  private let isOnTerminal = isatty(0) != 0
  private var wasSignalled = false

  /// `watchesParent` ends the process when the parent at start has ended, whoever holds stdin.
  package init(
    directory: String, version: String, limits: WireLimits, watchesParent: Bool,
    virtualClock: VirtualClock? = nil, log: any Log
  ) throws {
    self.directory = directory
    self.log = log
    self.virtualClock = virtualClock
    self.version = version
    self.limits = limits
    loop = try EventLoop()
    let waker = try Waker()
    self.waker = waker
    engineEnded = try Waker()
    let timers = try Timers(virtualClock)
    self.timers = timers
    signals = try Signals()
    calm = try CalmWatch()
    let engine = EngineThread { timers.set($0) }
    self.engine = engine
    hosts = Hosts(loop: loop, waker: waker, engine: engine, limits: limits, randomness: randomness, log: log)
    awake = try AwakeLock { [engine] fault in
      let message = "the machine cannot be kept awake while requests are sent"
      engine.submit(.noticed(.warn, message, error: fault.reason))
    }
    let network = try NetworkWatch(log: log)
    self.network = network
    _ = try loop.add(waker.descriptor, events: clinux_epoll_in) { _ in waker.clear() }
    try timers.register(on: loop) { engine.submit(.tick) }
    try calm.register(on: loop)
    try signals.register(on: loop) { [unowned self] in received($0) }
    try network.register(on: loop) { [engine] change in
      engine.submit(.networkDetected(change.network, isNewRoute: change.isNewRoute))
    }
    if watchesParent { try watchParent() }
  }

  /// Serves the host on the standard streams, and those that attach, until the end of its life (protocol,
  /// section 5).
  ///
  /// - Parameter keepsAwake: the machine, while requests are sent; attached hosts may wish for it too.
  package func serve(onDisconnect: OnDisconnect, keepsAwake: Bool = false) throws {
    hosts.onWishToKeepAwake = { [unowned self] in keepAwake() }
    if keepsAwake { keepAwake() }
    try serve(try Wire.takingStandardStreams(), onDisconnect, isOpen: true)
  }

  /// Serves one host at a connected socket, which it takes, and lets nobody else in. Until that one closes
  /// its end.
  package func serve(alone socket: Int32) throws {
    let output = fcntl(socket, F_DUPFD_CLOEXEC, 3)
    guard output >= 0 else { throw LoopError("fcntl", errno) }
    try serve(Wire(input: socket, output: output), .exit, isOpen: false)
  }

  private func serve(_ wire: Wire, _ onDisconnect: OnDisconnect, isOpen: Bool) throws {
    hosts.onFrame = { [unowned self] in received($0, from: $1) }
    hosts.onEnd = { [unowned self] in hostEnded($0) }
    hosts.onArrival = { [unowned self] in stayForHosts() }
    owner = try hosts.admit(wire, as: .owner, onDisconnect: onDisconnect)
    if isOpen { hosts.listen(in: directory) }
    // A regular file has no event that would begin the reading.
    hosts.attend()
    try loop.run(sparing: waker) { [unowned self] in
      hosts.attend()
      endIfDone()
    }
    hosts.closeDoor()
    endEngine()
  }

  private func keepAwake() {
    do throws(ThreadError) {
      try awake.begin()
    } catch {
      log.write(.warn, "the machine is not kept awake: there is no thread for it")
    }
  }

  private func received(_ frame: Frame, from session: HostSession) {
    switch frame {
    case .line(let line): session.methods.take(Incoming.read(line), from: session, of: self)
    case .tooLong: session.connection.refuse(nil, .lineTooLong(limit: limits.maxLine))
    }
  }

  // MARK: The end

  /// `shutdown`, after its reply. The process ends unless other hosts are there; then only this one's does,
  /// and a drain is left to the end of the last of them.
  func shutDown(for session: HostSession, drains: Bool) {
    session.hasAskedForEnd = true
    log.write(
      .info, "a host asks for the end",
      [.init("host", session.id.number), .init("mode", drains ? "drain" : "now")])
    if session.isVisitor { return hosts.leave(session) }
    if drains { hosts.wish(.drain) }
    if hosts.isAnyPresent(but: session) { return hosts.leave(session) }
    guard session.role == .owner else {
      hosts.leave(session)
      return lastHostLeft(drains ? hosts.onDisconnect : .exit)
    }
    guard drains else { return end("shutdown") }
    // It hears of its queue until its process ends, or goes on for another host.
    session.hasLeft = true
    lastHostLeft(.drain)
  }

  /// Accepts nothing new from now on; running transfers stop.
  private func end(_ reason: String) {
    guard ending == nil else { return }
    log.write(.info, "the end begins", [.init("reason", reason)])
    let deadline = timers.bootTime() + Sidecar.patienceMs
    ending = Ending(deadline: deadline)
    hosts.closeDoor()
    engine.submit(.finish)
    timers.setEnd(deadline)
    waker.wake()
  }

  /// Nothing new is taken from this host.
  func isEnding(for session: HostSession) -> Bool { ending != nil || session.hasAskedForEnd }

  /// What the machine is connected by at the start; changes go to the engine.
  package var detectedNetwork: Network { network.network }

  /// The queue's wall clock, ms.
  func wallTime() -> Int64 { virtualClock?.now().wall ?? SystemClock.wallTime() }

  /// Requests read before a host's input ended are answered before the exit; a copy that cannot end within
  /// this time is given up.
  private static let patienceMs: Int64 = 2000

  /// A host has closed its end.
  private func hostEnded(_ session: HostSession) {
    guard ending == nil else { return }
    if session.isVisitor || hosts.isAnyPresent(but: session) { return hosts.leave(session) }
    if hosts.onDisconnect != .exit { hosts.leave(session) }
    lastHostLeft(hosts.onDisconnect)
  }

  private func lastHostLeft(_ wish: OnDisconnect) {
    guard wish != .exit else { return end("the last host is gone") }
    log.write(.info, "the last host is gone; the queue goes on", [.init("onDisconnect", wish.text)])
    let (until, overflow) = timers.bootTime().addingReportingOverflow(wish.patience)
    aloneUntil = overflow ? .max : until
    drain.begin()
    engine.submit(.tick)
    if !overflow { timers.setEnd(until) }
  }

  /// A host has come back. One that asked for a drain is let go, as if the other had been there before.
  private func stayForHosts() {
    guard aloneUntil != nil else { return }
    log.write(.info, "a host is there again")
    aloneUntil = nil
    drain.cancel()
    if let owner, owner.hasLeft, !owner.isDismissed { hosts.leave(owner) }
  }

  /// Gives the engine its thread and begins to send. `offset` is what queue time is ahead of the boot clock,
  /// ms.
  package func run(_ engine: QueueEngine, offset: Int64) throws {
    timers.setOffset(offset)
    let box = Handover(engine)
    let thread = self.engine
    let ended: @Sendable (QueueEngine) -> Void = { [drain, waker, awake, calm] engine in
      calm.note()
      awake.note(isTransmitting: engine.isTransmitting)
      if drain.isReached({ engine.isDrained() }) { waker.wake() }
    }
    let finished = engineEnded
    try Thread.start {
      thread.run(box.take(), afterTurn: ended)
      finished.wake()
    }
    isRunning = true
  }

  /// Lets the engine finish what it has begun, housekeeping included; not for ever, since a disk may hang.
  private func endEngine() {
    guard isRunning else { return }
    engine.end()
    var ended = pollfd(fd: engineEnded.descriptor, events: Int16(POLLIN), revents: 0)
    poll(&ended, 1, 1000)
  }

  private func endIfDone() {
    if let aloneUntil, ending == nil, drain.isDone || timers.bootTime() >= aloneUntil {
      end(drain.isDone ? "nothing is left to send" : "the time to stay is over")
    }
    guard let ending else { return }
    if hosts.areServed { return loop.end() }
    guard timers.bootTime() >= ending.deadline else { return }
    if hosts.areAnswered || ending.gaveUp { loop.end() } else { giveUp() }
  }

  /// What is still being copied is refused, and nothing of it kept.
  private func giveUp() {
    log.write(.warn, "copies that had not ended in time were given up")
    engine.submit(.giveUp)
    let deadline = timers.bootTime() + 500
    ending = Ending(deadline: deadline, gaveUp: true)
    timers.setEnd(deadline)
  }

  private func received(_ signal: Int32) {
    switch signal {
    case SIGINT where !isOnTerminal: break
    default:
      if wasSignalled { _exit(0) }
      wasSignalled = true
      end(signal == SIGHUP ? "SIGHUP" : signal == SIGINT ? "SIGINT" : "SIGTERM")
    }
  }

  private func watchParent() throws(LoopError) {
    guard let descriptor = ParentWatch.descriptor() else { return }
    _ = try loop.add(descriptor, events: clinux_epoll_in) { [unowned self] _ in
      loop.remove(descriptor)
      close(descriptor)
      log.write(.info, "the parent process has ended")
      owner?.wire.hangUp()
    }
  }
}

/// Hands a value that one thread made to the one thread that uses it from then on.
private final class Handover<Value>: @unchecked Sendable {
  private var value: Value?

  init(_ value: Value) { self.value = value }

  func take() -> Value {
    guard let value else { preconditionFailure("taken once") }
    self.value = nil
    return value
  }
}
