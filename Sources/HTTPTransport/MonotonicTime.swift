import Glibc

/// Milliseconds of CLOCK_MONOTONIC, the only clock of this module: time-outs are lengths and have no date.
enum MonotonicTime {
  static var now: Int64 {
    var reading = timespec()
    clock_gettime(CLOCK_MONOTONIC, &reading)
    return Int64(reading.tv_sec) * 1000 + Int64(reading.tv_nsec) / 1_000_000
  }
}
