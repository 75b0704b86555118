import CLinux
import Glibc
import Synchronization

/// Notices that the engine has come to rest, and gives back then what its work has left free: the C library
/// keeps it else, for as long as the process lives. Wakes nobody where nothing happens, nor after work that
/// took little.
package final class CalmWatch: Sendable {
  private struct Content {
    var isArmed = false
    /// Since the timer was armed.
    var hasWorked = false
    /// Bytes of memory that the process had, of no file, when it was last at rest.
    var atRest: Int
  }

  private let timer: Int32
  private let sizes: Int32
  private let content: Mutex<Content>

  private static let calmSeconds = 2
  /// Less than this is not worth a wake-up, in bytes.
  private static let least = 4 << 20

  init() throws(LoopError) {
    timer = timerfd_create(CLOCK_BOOTTIME, clinux_timerfd_flags)
    guard timer >= 0 else { throw LoopError("timerfd_create", errno) }
    // Where there is none, nothing is given back.
    sizes = open("/proc/self/statm", O_RDONLY | O_CLOEXEC)
    content = Mutex(Content(atRest: Int(clinux_memory_of_its_own(sizes))))
  }

  deinit {
    close(timer)
    if sizes >= 0 { close(sizes) }
  }

  func register(on loop: EventLoop) throws(LoopError) {
    _ = try loop.add(timer, events: clinux_epoll_in) { [unowned self] _ in
      var expirations: UInt64 = 0
      _ = read(timer, &expirations, 8)
      guard isCalm() else { return }
      malloc_trim(0)
      content.withLock { $0.atRest = Int(clinux_memory_of_its_own(sizes)) }
    }
  }

  /// The engine has worked, on whatever thread. Under a load the timer is armed anew each time it fires, not
  /// with each turn.
  func note() {
    content.withLock { content in
      content.hasWorked = content.isArmed
      guard !content.isArmed, Int(clinux_memory_of_its_own(sizes)) > content.atRest + CalmWatch.least else {
        return
      }
      content.isArmed = true
      arm()
    }
  }

  private func isCalm() -> Bool {
    content.withLock { content in
      content.isArmed = content.hasWorked
      content.hasWorked = false
      if content.isArmed { arm() }
      return !content.isArmed
    }
  }

  private func arm() {
    var value = itimerspec()
    value.it_value = timespec(tv_sec: CalmWatch.calmSeconds, tv_nsec: 0)
    timerfd_settime(timer, 0, &value, nil)
  }

  /// Call it before there are threads. The C library moves its limits up with the largest block that was
  /// freed, and keeps twice as much free at the end of each thread's heap, which `malloc_trim` leaves alone:
  /// after one call of 8 MB that would be 16 MB a thread.
  package static func keepLittle() {
    mallopt(M_MMAP_THRESHOLD, 256 << 10)
    mallopt(M_TRIM_THRESHOLD, 512 << 10)
  }

  /// Call it when the start is over. The dynamic linker has been through every library, most of which nothing
  /// asks again before something is sent, or ever.
  package static func letGoOfTheStart() { clinux_unmap_program_pages() }
}
