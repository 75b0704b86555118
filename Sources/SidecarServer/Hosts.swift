import CLinux
import Glibc
import JSONRPC
import QueueEngine
import QueueModel

/// The hosts of the process: the one on its standard streams, and those that attached through the socket in
/// the directory. Lives on the loop's thread.
final class Hosts {
  private let loop: EventLoop
  private let waker: Waker
  private let engine: EngineThread
  private let limits: WireLimits
  private let randomness: any Randomness
  private let log: any Log
  private var sessions: [HostID: HostSession] = [:]
  private var attachPoint: AttachPoint?
  /// Somebody waits to be let in, and the process can have no further descriptor.
  private var isFull = false { didSet { loop.patience = isFull ? Hosts.roomMs : -1 } }
  /// How often room is looked for, ms: descriptors become free without an event of the loop's.
  private static let roomMs: Int32 = 500
  /// The most lasting wish of all hosts since the start (protocol, section 5).
  private(set) var onDisconnect = OnDisconnect.exit

  var onFrame: (Frame, HostSession) -> Void = { _, _ in }
  /// The host has closed its end.
  var onEnd: (HostSession) -> Void = { _ in }
  /// An attached host has greeted.
  var onArrival: () -> Void = {}
  /// An attached host wants the machine to stay awake while requests are sent.
  var onWishToKeepAwake: () -> Void = {}

  init(
    loop: EventLoop, waker: Waker, engine: EngineThread, limits: WireLimits, randomness: any Randomness,
    log: any Log
  ) {
    self.loop = loop
    self.waker = waker
    self.engine = engine
    self.limits = limits
    self.randomness = randomness
    self.log = log
  }

  /// Takes a host in; it may ask as soon as the loop runs.
  @discardableResult
  func admit(_ wire: Wire, as role: HostSession.Role, onDisconnect: OnDisconnect?) throws(LoopError)
    -> HostSession
  {
    let id = HostID(Int64(randomness.next() >> 1))
    let connection = Connection(
      id, limits: limits, wake: { [waker] in waker.wake() },
      onCaughtUp: { [engine] in engine.submit(.caughtUp($0)) })
    let hostWire = try HostWire(
      connection, on: wire, loop: loop, maxLine: limits.maxLine,
      onFrame: { [unowned self] in received($0, from: id) },
      onEnd: { [unowned self] in ended(id) })
    let session = HostSession(role, connection, hostWire, onDisconnect: onDisconnect)
    sessions[id] = session
    if let onDisconnect { welcome(session, onDisconnect) }
    return session
  }

  private func welcome(_ session: HostSession, _ wish: OnDisconnect) {
    session.onDisconnect = wish
    onDisconnect = onDisconnect.lasting(wish)
    engine.submit(.connected(session.id, session.connection))
    log.write(
      .info, "a host has come",
      [
        .init("host", session.id.number), .init("role", session.role.rawValue),
        .init("onDisconnect", wish.text),
      ])
  }

  // MARK: Attaching

  /// Lets further processes of the same user in through `directory`, whose lock this one holds.
  /// Where no socket can be made, on a full disk for one, the host that is there is served all the same.
  func listen(in directory: String) {
    do throws(LoopError) {
      attachPoint = try AttachPoint(in: directory)
    } catch {
      log.write(.warn, "no further process can be attached", [.init("error", "\(error)")])
    }
    watchAttachPoint()
  }

  private func watchAttachPoint() {
    guard let attachPoint else { return }
    do throws(LoopError) {
      _ = try loop.add(attachPoint.descriptor, events: clinux_epoll_in) { [unowned self] _ in letIn() }
    } catch {
      log.write(.warn, "no further process can be attached", [.init("error", "\(error)")])
    }
  }

  private func letIn() {
    guard let attachPoint else { return }
    while true {
      switch attachPoint.accept() {
      case .nobody: return waitForNext()
      case .noRoom: return waitForRoom(attachPoint)
      case .connected(let descriptor):
        let output = fcntl(descriptor, F_DUPFD_CLOEXEC, 3)
        guard output >= 0 else {
          close(descriptor)
          return waitForRoom(attachPoint)
        }
        let wire = Wire(input: descriptor, output: output)
        do {
          try admit(wire, as: .attached, onDisconnect: nil)
        } catch {
          wire.close()
          log.write(.warn, "a process could not be attached", [.init("error", "\(error)")])
        }
      }
    }
  }

  /// Not asked again before a descriptor is free: the one that waits would wake the loop without end.
  private func waitForRoom(_ attachPoint: AttachPoint) {
    guard !isFull else { return }
    isFull = true
    loop.remove(attachPoint.descriptor)
  }

  private func waitForNext() {
    guard isFull else { return }
    isFull = false
    watchAttachPoint()
  }

  /// Nobody is let in from now on; whoever waits, or has not greeted yet, tries the lock again.
  func closeDoor() {
    guard let attachPoint else { return }
    if !isFull { loop.remove(attachPoint.descriptor) }
    isFull = false
    self.attachPoint = nil
    for session in sessions.values where session.onDisconnect == nil { dismiss(session) }
  }

  private func received(_ frame: Frame, from id: HostID) {
    guard let session = sessions[id] else { return }
    if session.onDisconnect != nil { return onFrame(frame, session) }
    guard !session.hasLeft, case .line(let line) = frame, let arrival = AttachGreeting.read(line) else {
      return dismiss(session)
    }
    session.connection.greet(AttachGreeting.accepted)
    switch arrival {
    case .host(let wish):
      welcome(session, wish.onDisconnect)
      if wish.keepsAwake { onWishToKeepAwake() }
      onArrival()
    case .visitor:
      session.isVisitor = true
      welcome(session, .exit)
    }
  }

  private func ended(_ id: HostID) {
    guard let session = sessions[id], !session.hasLeft else { return }
    if session.onDisconnect == nil { return dismiss(session) }
    session.hasLeft = true
    log.write(.info, "a host has gone", [.init("host", id.number), .init("role", session.role.rawValue)])
    onEnd(session)
  }

  // MARK: Their state

  /// A host is there, other than this one.
  func isAnyPresent(but session: HostSession) -> Bool {
    sessions.values.contains { $0.isPresent && $0.id != session.id }
  }

  /// Every request is answered, as far as its host can still be told.
  var areAnswered: Bool {
    sessions.values.allSatisfy { $0.wire.outputEnded || $0.connection.unanswered == 0 }
  }

  /// All that was to be written is.
  var areServed: Bool { sessions.values.allSatisfy(\.isServed) }

  /// This wish counts as well from now on.
  func wish(_ wish: OnDisconnect) { onDisconnect = onDisconnect.lasting(wish) }

  /// The process goes on without this host: it is told nothing more but what it still waits for.
  func leave(_ session: HostSession) {
    dismiss(session)
    engine.submit(.disconnected(session.id))
  }

  private func dismiss(_ session: HostSession) {
    session.hasLeft = true
    session.isDismissed = true
    waker.wake()
  }

  /// After anything may have changed: writes, reads on, and lets go of who has left.
  func attend() {
    if isFull { letIn() }
    for session in sessions.values { session.wire.attend() }
    for session in sessions.values where session.isDismissed && session.isServed {
      session.wire.close()
      sessions[session.id] = nil
    }
  }
}
