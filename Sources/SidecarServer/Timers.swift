import CLinux
import Glibc
import QueueEngine
import QueueModel
import Synchronization

/// The deadlines of the engine and of the end, as descriptors of the loop. Armed from any thread; silent when
/// nothing is waited for. Waits count suspended time (D21).
final class Timers: Sendable {
  /// CLOCK_BOOTTIME.
  private let boot: Int32
  /// CLOCK_REALTIME; fires also when the clock is set.
  private let wall: Int32
  private let endTimer: Int32
  private let armed = Mutex((steady: Int64?.none, wall: Int64?.none))
  private let offset: Mutex<Int64>
  /// In place of the machine's clocks, which then say nothing about a deadline.
  private let virtualClock: VirtualClock?

  init(_ virtualClock: VirtualClock?) throws(LoopError) {
    self.virtualClock = virtualClock
    boot = timerfd_create(CLOCK_BOOTTIME, clinux_timerfd_flags)
    wall = timerfd_create(CLOCK_REALTIME, clinux_timerfd_flags)
    endTimer = timerfd_create(CLOCK_BOOTTIME, clinux_timerfd_flags)
    offset = Mutex(0)
    guard boot >= 0, wall >= 0, endTimer >= 0 else { throw LoopError("timerfd_create", errno) }
  }

  deinit {
    close(boot)
    close(wall)
    close(endTimer)
  }

  /// Queue time minus boot time, ms; fixed once when the store is open.
  func setOffset(_ milliseconds: Int64) { offset.withLock { $0 = milliseconds } }

  func register(on loop: EventLoop, _ onTick: @escaping () -> Void) throws(LoopError) {
    for descriptor in [boot, wall] {
      _ = try loop.add(descriptor, events: clinux_epoll_in) { [unowned self] _ in
        var expirations: UInt64 = 0
        // ECANCELED says that the wall clock was set, which is a reason to look as well.
        _ = read(descriptor, &expirations, 8)
        armed.withLock { if descriptor == boot { $0.steady = nil } else { $0.wall = nil } }
        onTick()
      }
    }
    _ = try loop.add(endTimer, events: clinux_epoll_in) { [endTimer] _ in
      var expirations: UInt64 = 0
      _ = read(endTimer, &expirations, 8)
    }
  }

  /// Arms what is wanted next. A timer that fires too early is cheaper than one set on every turn, so one
  /// that is earlier than wanted stays.
  func set(_ deadline: Deadline) {
    if let virtualClock {
      let now = virtualClock.now()
      let isDue = deadline.steady ?? .max <= now.steady || deadline.wall ?? .max <= now.wall
      // Any time that has passed fires at once.
      if isDue { arm(boot, at: 1, flags: clinux_timer_absolute) }
      return
    }
    armed.withLock { armed in
      if let steady = deadline.steady, steady < armed.steady ?? .max {
        armed.steady = steady
        arm(boot, at: steady - offset.withLock { $0 }, flags: clinux_timer_absolute)
      }
      if let wanted = deadline.wall, wanted < armed.wall ?? .max {
        armed.wall = wanted
        arm(wall, at: wanted, flags: clinux_timer_absolute | clinux_timer_cancel_on_set)
      }
    }
  }

  func setEnd(_ boottime: Int64) { arm(endTimer, at: boottime, flags: clinux_timer_absolute) }

  private func arm(_ descriptor: Int32, at milliseconds: Int64, flags: Int32) {
    // Zero would disarm; a time that has passed fires at once.
    let at = max(milliseconds, 1)
    var value = itimerspec()
    value.it_value = timespec(tv_sec: Int(at / 1000), tv_nsec: Int(at % 1000) * 1_000_000)
    timerfd_settime(descriptor, flags, &value, nil)
  }

  /// CLOCK_BOOTTIME, ms.
  func bootTime() -> Int64 { SystemClock.bootTime() }
}
