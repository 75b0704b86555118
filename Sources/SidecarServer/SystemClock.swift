import CLinux
import Glibc
package import QueueModel
import Synchronization

/// The machine's clocks. Queue time is boot time plus an offset that the store keeps, so that it goes on over
/// a restart and never steps back (D21).
package final class SystemClock: Clock {
  /// Queue time minus boot time, ms.
  private let offset: Int64
  /// Wall clock minus boot time as last told, ms. The two cannot be read at once, so a difference of one is
  /// none: a deadline that is told twice has to be the same both times.
  private let difference: Atomic<Int64>

  package init(offset: Int64) {
    self.offset = offset
    difference = Atomic(SystemClock.wallTime() - SystemClock.bootTime())
  }

  package func now() -> Moment {
    let boot = SystemClock.bootTime()
    let measured = SystemClock.wallTime() - boot
    var told = difference.load(ordering: .relaxed)
    if abs(measured - told) > 1 {
      told = measured
      difference.store(measured, ordering: .relaxed)
    }
    return Moment(wall: boot + told, steady: boot + offset)
  }

  /// Milliseconds since the epoch.
  package static func wallTime() -> Int64 { read(CLOCK_REALTIME) }

  /// Milliseconds since the machine started, suspension included.
  package static func bootTime() -> Int64 { read(CLOCK_BOOTTIME) }

  private static func read(_ clock: clockid_t) -> Int64 {
    var time = timespec()
    clock_gettime(clock, &time)
    return Int64(time.tv_sec) * 1000 + Int64(time.tv_nsec) / 1_000_000
  }
}

/// The kernel's random bits.
package struct SystemRandomness: Randomness {
  package init() {}

  package func next() -> UInt64 { SystemRandomness.stock.withLock { $0.take() } }

  private static let stock = Mutex(Stock())

  /// A call of the kernel costs the same for one number as for many. Up to 256 bytes it brings all of them.
  private struct Stock {
    private var words: [UInt64] = []

    mutating func take() -> UInt64 {
      if words.isEmpty { refill() }
      guard let word = words.popLast() else {
        var generator = SystemRandomNumberGenerator()
        return generator.next()
      }
      return word
    }

    private mutating func refill() {
      words = Array(repeating: 0, count: 32)
      let brought = words.withUnsafeMutableBytes { getrandom($0.baseAddress, $0.count, 0) }
      if brought != 256 { words = [] }
    }
  }
}
