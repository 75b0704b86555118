import Glibc
import QueueModel

/// Queue time over restarts: goes on with CLOCK_BOOTTIME while the system is up, and by the wall clock over a
/// start of the system (D21).
struct QueueTime {
  /// What queue time is ahead of CLOCK_BOOTTIME, ms.
  let offset: Int64
  let bootID: String
  private let reading: Reading

  /// Reads the wall clock and CLOCK_BOOTTIME.
  typealias Reading = @Sendable () -> Moment

  /// - Parameters:
  ///   - now: the wall clock and CLOCK_BOOTTIME.
  ///   - last: what the last commit noted; nil for a new database.
  ///   - reading: the clocks from now on; nil lets the machine's go on from `now`.
  init(now: Moment, bootID: String, last: MetaTable.Content?, reading: Reading? = nil) {
    self.bootID = bootID
    self.reading = reading ?? QueueTime.machine(from: now)
    guard let last else {
      offset = 0
      return
    }
    if last.bootID == bootID && now.steady + last.steadyOffset >= last.last.steady {
      offset = last.steadyOffset
    } else {
      // A clock that was set back takes nothing off a wait.
      let passed = max(0, now.wall - last.last.wall)
      offset = last.last.steady + passed - now.steady
    }
  }

  /// Wall clock and queue time now.
  var moment: Moment {
    let now = reading()
    return Moment(wall: now.wall, steady: now.steady + offset)
  }

  /// What the queue's clocks say beside, or without, the process that serves it.
  static func moment(goingOnFrom last: MetaTable.Content) -> Moment {
    let now = Moment(wall: read(CLOCK_REALTIME), steady: read(CLOCK_BOOTTIME))
    return QueueTime(now: now, bootID: systemBootID(), last: last).moment
  }

  private static func machine(from now: Moment) -> Reading {
    let wall = now.wall - read(CLOCK_REALTIME)
    let boot = now.steady - read(CLOCK_BOOTTIME)
    return { Moment(wall: wall + read(CLOCK_REALTIME), steady: boot + read(CLOCK_BOOTTIME)) }
  }

  private static func read(_ clock: clockid_t) -> Int64 {
    var time = timespec()
    clock_gettime(clock, &time)
    return Int64(time.tv_sec) * 1000 + Int64(time.tv_nsec) / 1_000_000
  }

  /// Names the present start of the system; empty where that cannot be told.
  static func systemBootID() -> String {
    let file = open("/proc/sys/kernel/random/boot_id", O_RDONLY | O_CLOEXEC)
    guard file >= 0 else { return "" }
    defer { close(file) }
    var bytes = [UInt8](repeating: 0, count: 36)
    let count = Glibc.read(file, &bytes, bytes.count)
    return String(decoding: bytes.prefix(max(0, count)), as: UTF8.self)
  }
}
