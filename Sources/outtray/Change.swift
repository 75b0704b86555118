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
      let (ready, over) = (Signpost(), Semaphore())
      // On a thread of its own from the start: what the sidecar does to signals is that thread's alone, and
      // the command can still be interrupted.
      try Thread.start {
        do {
          // What is wrong reaches the command as the answer to its call, or stands in the database's record.
          let sidecar = try Sidecar(
            directory: lock.directory, version: CommandLineTool.version, limits: WireLimits(),
            watchesParent: false, log: SilentLog())
          try startEngine(of: sidecar)
          ready.put(nil)
          try sidecar.serve(alone: ends.engine)
        } catch {
          // Once the command was told that the engine is ready, it hears of this by the end alone.
          shutdown(ends.engine, Int32(SHUT_RDWR))
          ready.put(Failure(of: error))
        }
        lock.release()
        over.post()
      }
      if let failure = ready.wait() {
        for end in [ends.command, ends.engine] { close(end) }
        throw failure
      }
      return HeldQueue(connection: ends.command, waitForEnd: { over.wait() })
    } catch {
      throw Failure(of: error)
    }
  }

  private static func startEngine(of sidecar: Sidecar) throws {
    let now = Moment(wall: SystemClock.wallTime(), steady: SystemClock.bootTime())
    let store = try QueueStore(directory: sidecar.directory, now: now, mayStartAnew: false)
    try sidecar.startEngine(on: store) { stage throws(StoreError) in
      try QueueEngine(
        store: store, transport: NoTransport(), clock: SystemClock(offset: store.steadyOffset),
        randomness: SystemRandomness(), sends: false, stage: stage)
    }
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
  func limit(_ bandwidth: Bandwidth) {}
}
