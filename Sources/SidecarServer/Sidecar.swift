import CLinux
import Glibc
import JSONRPC
import JSONText
import OuttrayProtocol
package import QueueEngine
import QueueModel

/// The process as its host sees it: one host on standard streams, requests to the engine, events back, and an
/// end in bounded time. Lives on the loop's thread.
package final class Sidecar {
  package let engine: EngineThread
  package let directory: String
  let version: String
  let limits: WireLimits
  /// With --virtual-clock; nil goes by the machine's.
  package let virtualClock: VirtualClock?
  let randomness = SystemRandomness()
  private let loop: EventLoop
  private let waker: Waker
  private let timers: Timers
  private let signals: Signals
  private var wire: HostWire?
  private var methods: MethodTable
  private var ending: Ending?
  private let engineEnded: Waker
  private var isRunning = false

  /// Why the process ends, and what it still waits for.
  private struct Ending {
    /// Boot clock, ms: after it nothing is waited for.
    var deadline: Int64
    /// Wait until no entry is running or queued.
    var drains: Bool
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
    virtualClock: VirtualClock? = nil
  ) throws {
    self.directory = directory
    self.virtualClock = virtualClock
    methods = MethodTable(isClockVirtual: virtualClock != nil)
    self.version = version
    self.limits = limits
    loop = try EventLoop()
    let waker = try Waker()
    self.waker = waker
    engineEnded = try Waker()
    let timers = try Timers(virtualClock)
    self.timers = timers
    signals = try Signals()
    engine = EngineThread { timers.set($0) }
    _ = try loop.add(waker.descriptor, events: clinux_epoll_in) { _ in waker.clear() }
    try timers.register(on: loop) { [unowned self] in engine.submit(.tick) }
    try signals.register(on: loop) { [unowned self] in received($0) }
    if watchesParent { try watchParent() }
  }

  /// Serves the host on the standard streams until the end of its life (protocol, section 5).
  package func serve() throws {
    let connection = Connection(
      HostID(1), limits: limits, wake: { [waker] in waker.wake() },
      onCaughtUp: { [engine] in engine.submit(.caughtUp($0)) })
    engine.submit(.connected(connection.id, connection))
    let wire = try HostWire(
      connection, on: try Wire.takingStandardStreams(), loop: loop, maxLine: limits.maxLine,
      onFrame: { [unowned self] in received($0, on: connection) },
      onEnd: { [unowned self] in hostEnded() })
    self.wire = wire
    // A regular file has no event that would begin the reading.
    wire.attend()
    try loop.run { [unowned self] in
      wire.attend()
      endIfDone()
    }
    endEngine()
  }

  private func received(_ frame: Frame, on connection: Connection) {
    switch frame {
    case .line(let line): methods.take(Incoming.read(line), on: connection, of: self)
    case .tooLong: connection.refuse(nil, .lineTooLong(limit: limits.maxLine))
    }
  }

  // MARK: The end

  /// Accepts nothing new from now on; running transfers stop, unless `drains`.
  func end(drains: Bool, within milliseconds: Int64) {
    let deadline = timers.bootTime() + milliseconds
    if let current = ending, current.deadline <= deadline, !current.drains { return }
    ending = Ending(deadline: deadline, drains: drains)
    if drains {
      _ = self.drains.exchange(true)
      engine.submit(.tick)
    } else {
      engine.submit(.finish)
      timers.setEnd(deadline)
    }
    waker.wake()
  }

  var isEnding: Bool { ending != nil }

  /// The queue's wall clock, ms.
  func wallTime() -> Int64 { virtualClock?.now().wall ?? SystemClock.wallTime() }

  /// Requests read before stdin ended are answered before the exit; a copy that cannot end within 2 s is
  /// given up. A host that asked for a drain may leave meanwhile.
  private func hostEnded() {
    if ending?.drains == true { return }
    end(drains: false, within: 2000)
  }

  /// Set while the end waits until no entry is running or queued; the engine's thread then says when that is
  /// so.
  private let drains = Flag()
  private let isDrained = Flag()

  /// Gives the engine its thread and begins to send. `offset` is what queue time is ahead of the boot clock,
  /// ms.
  package func run(_ engine: QueueEngine, offset: Int64) throws {
    timers.setOffset(offset)
    let box = Handover(engine)
    let thread = self.engine
    let ended: @Sendable (QueueEngine) -> Void = { [drains, isDrained, waker] engine in
      guard drains.value, engine.isDrained(), !isDrained.exchange(true) else { return }
      waker.wake()
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
    guard let ending, let wire else { return }
    if ending.drains {
      guard isDrained.value, wire.connection.unanswered == 0, wire.isFlushed else { return }
      return loop.end()
    }
    let isAnswered = wire.connection.unanswered == 0
    if wire.outputEnded || (isAnswered && wire.isFlushed) { return loop.end() }
    guard timers.bootTime() >= ending.deadline else { return }
    if isAnswered || ending.gaveUp { loop.end() } else { giveUp() }
  }

  /// What is still being copied is refused, and nothing of it kept.
  private func giveUp() {
    engine.submit(.giveUp)
    let deadline = timers.bootTime() + 500
    ending = Ending(deadline: deadline, drains: false, gaveUp: true)
    timers.setEnd(deadline)
  }

  private func received(_ signal: Int32) {
    switch signal {
    case SIGINT where !isOnTerminal: break
    default:
      if wasSignalled { _exit(0) }
      wasSignalled = true
      end(drains: false, within: 2000)
    }
  }

  /// A pidfd on the parent, which needs no polling; skipped when the parent is not visible.
  private func watchParent() throws(LoopError) {
    let parent = getppid()
    guard parent > 1 else { return }
    let descriptor = clinux_pidfd_open(parent)
    guard descriptor >= 0, getppid() == parent else { return }
    _ = try loop.add(descriptor, events: clinux_epoll_in) { [unowned self] _ in
      loop.remove(descriptor)
      hostEnded()
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
