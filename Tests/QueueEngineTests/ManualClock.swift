import QueueModel
import Synchronization

/// Clocks that only the test moves. Queue time is boot time plus the offset that the store gave.
final class ManualClock: Clock {
  private struct Readings {
    var wall: Int64 = 1_800_000_000_000
    var boot: Int64 = 5_000_000
    var offset: Int64 = 0
  }

  private let readings = Mutex(Readings())

  /// Wall clock and queue time.
  func now() -> Moment { readings.withLock { Moment(wall: $0.wall, steady: $0.boot + $0.offset) } }

  /// Wall clock and boot time, as the store is opened with.
  func atBoot() -> Moment { readings.withLock { Moment(wall: $0.wall, steady: $0.boot) } }

  func setOffset(_ offset: Int64) { readings.withLock { $0.offset = offset } }

  func advance(_ milliseconds: Int64) {
    readings.withLock {
      $0.wall += milliseconds
      $0.boot += milliseconds
    }
  }

  /// The system has just started.
  func beginBoot() { readings.withLock { $0.boot = 3000 } }

  /// The wall clock is set, as a person or NTP does.
  func setWall(by milliseconds: Int64) { readings.withLock { $0.wall += milliseconds } }
}
