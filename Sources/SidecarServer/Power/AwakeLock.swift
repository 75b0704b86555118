import Glibc
import QueueEngine
import Synchronization

/// Keeps the machine awake while requests are sent (`--keep-awake`). Told from any thread without waiting; a
/// thread of its own waits for the bus.
final class AwakeLock: Sendable {
  /// By the names of `stats`.
  enum Standing: String {
    case free, held, unavailable
  }

  private let acquire: @Sendable () throws(Inhibitor.Fault) -> Int32
  private let clock: @Sendable () -> Int64
  /// Told of a lock that cannot be had, once for as long as that lasts.
  private let onFault: @Sendable (Inhibitor.Fault) -> Void
  private let content = Mutex(Content())
  private let changed: Waker

  private struct Content {
    var isWanted = false
    var wakefulness = Wakefulness()
    var isFaulty = false
  }

  /// - Parameter clock: the boot clock, ms.
  init(
    acquire: @escaping @Sendable () throws(Inhibitor.Fault) -> Int32 = Inhibitor.acquire,
    clock: @escaping @Sendable () -> Int64 = { SystemClock.bootTime() },
    onFault: @escaping @Sendable (Inhibitor.Fault) -> Void
  ) throws(LoopError) {
    self.acquire = acquire
    self.clock = clock
    self.onFault = onFault
    changed = try Waker()
  }

  /// From now on, until the process ends; again changes nothing.
  func begin() throws(ThreadError) {
    let begins = content.withLock { content in
      defer { content.isWanted = true }
      return !content.isWanted
    }
    if begins { try Thread.start { [self] in run() } }
  }

  func note(isTransmitting: Bool) {
    let isNew = content.withLock { $0.wakefulness.note(isTransmitting: isTransmitting, at: clock()) }
    if isNew { changed.wake() }
  }

  /// nil when nobody wants it.
  var standing: Standing? {
    content.withLock { content in
      guard content.isWanted else { return nil }
      return content.wakefulness.isHeld ? .held : content.isFaulty ? .unavailable : .free
    }
  }

  private func run() {
    var lock: Int32 = -1
    while true {
      switch content.withLock({ $0.wakefulness.step(at: clock()) }) {
      case .acquire:
        do throws(Inhibitor.Fault) {
          lock = try acquire()
          content.withLock { content in
            content.wakefulness.acquired()
            content.isFaulty = false
          }
        } catch {
          let isNew = content.withLock { content in
            content.wakefulness.failed(at: clock())
            defer { content.isFaulty = true }
            return !content.isFaulty
          }
          if isNew { onFault(error) }
        }
      case .release:
        close(lock)
        content.withLock { $0.wakefulness.released() }
      case .wait(let time): wait(until: time)
      }
    }
  }

  private func wait(until time: Int64?) {
    var ready = pollfd(fd: changed.descriptor, events: Int16(POLLIN), revents: 0)
    let left = time.map { Int32(clamping: max(0, $0 - clock())) } ?? -1
    if poll(&ready, 1, left) == 1 { changed.clear() }
  }
}
