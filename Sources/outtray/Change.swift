import Console
import Glibc
import QueueEngine
import QueueModel
import QueueStore
import SidecarServer

/// How commands for people reach the engine of a queue: the one that serves it, or, where none does, one of
/// their own that holds the queue for a change and sends nothing (protocol, section 5).
enum Change {
  static let doors = Doors(
    attach: { directory, patience in
      Visit.begin(to: directory, deadline: SystemClock.bootTime() + patience)
    },
    hold: hold)

  /// The same engine and the same wire as `serve` has, over a pair of sockets, without a socket in the
  /// directory and without a transport.
  @Sendable private static func hold(_ directory: String) throws(Failure) -> HeldQueue {
    do {
      let lock = try DirectoryLock(directory)
      let ends = try pair()
      let (ready, over) = (Signpost(), Signpost())
      // On a thread of its own from the start: what the sidecar does to signals is that thread's alone, and
      // the command can still be interrupted.
      try Thread.start {
        do {
          let sidecar = try Sidecar(
            directory: lock.directory, version: CommandLineTool.version, limits: WireLimits(),
            watchesParent: false, log: SilentLog())
          try startEngine(of: sidecar)
          ready.put(nil)
          try sidecar.serve(alone: ends.engine)
        } catch let error as StoreError {
          ready.put(Failure(error))
        } catch {
          ready.put(Failure(Status.internalError, "\(error)"))
        }
        lock.release()
        over.put(nil)
      }
      if let failure = ready.wait() {
        for end in [ends.command, ends.engine] { close(end) }
        throw failure
      }
      return HeldQueue(connection: ends.command, waitForEnd: { _ = over.wait() })
    } catch let error as StoreError {
      throw Failure(error)
    } catch let failure as Failure {
      throw failure
    } catch {
      throw Failure(Status.internalError, "\(error)")
    }
  }

  private static func startEngine(of sidecar: Sidecar) throws {
    let now = Moment(wall: SystemClock.wallTime(), steady: SystemClock.bootTime())
    let store = try QueueStore(directory: sidecar.directory, now: now, mayStartAnew: false)
    let thread = sidecar.engine
    let workers = StagingWorkers(store.stager) { ticket, result in thread.submit(.staged(ticket, result)) }
    let engine = try QueueEngine(
      store: store, transport: NoTransport(), clock: SystemClock(offset: store.steadyOffset),
      randomness: SystemRandomness(), sends: false, stage: { workers.take($0) })
    try engine.recover()
    try workers.start()
    try sidecar.run(engine, offset: store.steadyOffset)
  }

  private static func pair() throws(Failure) -> (command: Int32, engine: Int32) {
    var ends: [Int32] = [0, 0]
    guard socketpair(AF_UNIX, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0, &ends) == 0 else {
      throw Failure(Status.internalError, "socketpair: \(String(cString: strerror(errno)))")
    }
    return (ends[0], ends[1])
  }
}

/// An engine that sends nothing has nothing to carry out or to stop.
private final class NoTransport: Transport {
  func start(_ transmission: Transmission) { preconditionFailure("nothing is sent for a change") }
  func stop(_ attempt: AttemptID) {}
  func configure(_ settings: ConnectionSettings) {}
}
