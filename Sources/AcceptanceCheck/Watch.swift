import Glibc

/// Waits, on the one thread of the check, for descriptors and for conditions. Every wait has an end.
final class Watch {
  typealias Ready = (_ events: Int16) -> Void

  /// The end of a child has no descriptor that every kernel offers, so a wait looks at its condition this
  /// often, ms.
  private static let slice: Int64 = 50

  private var watched: [Int32: (events: Int16, run: Ready)] = [:]
  private var signal: Int32?
  private let end: Int64

  /// `milliseconds` bound all waits together.
  init(within milliseconds: Int64) {
    end = Watch.now() + milliseconds
  }

  /// Runs `action` during waits whenever the descriptor has one of `events`; HUP and ERR always.
  func add(_ descriptor: Int32, _ events: Int32, _ action: @escaping Ready) {
    watched[descriptor] = (Int16(events), action)
  }

  func change(_ descriptor: Int32, _ events: Int32) {
    watched[descriptor]?.events = Int16(events)
  }

  func remove(_ descriptor: Int32) {
    watched[descriptor] = nil
  }

  /// Every wait from now on throws `interrupted`.
  func interrupt(_ signal: Int32) {
    self.signal = signal
  }

  /// Of the bound on all waits, ms.
  var timeLeft: Int64 { max(0, end - Watch.now()) }

  /// Returns once `holds` is true; throws `unmet` naming `what` when the time is up.
  func wait(for what: String, within milliseconds: Int64, until holds: () -> Bool) throws(Setback) {
    let allowed = min(milliseconds, timeLeft)
    let until = Watch.now() + allowed
    while true {
      if let signal { throw .interrupted(signal) }
      if holds() { return }
      let left = until - Watch.now()
      guard left > 0 else { throw .unmet("not within \((allowed + 500) / 1000) s: \(what)") }
      poll(for: min(left, Watch.slice))
    }
  }

  private func poll(for milliseconds: Int64) {
    var polled = watched.map { pollfd(fd: $0.key, events: $0.value.events, revents: 0) }
    guard Glibc.poll(&polled, nfds_t(polled.count), Int32(milliseconds)) > 0 else { return }
    for found in polled where found.revents != 0 {
      // An action before this one may have taken it away.
      watched[found.fd]?.run(found.revents)
    }
  }

  /// CLOCK_MONOTONIC, ms.
  static func now() -> Int64 {
    var time = timespec()
    clock_gettime(CLOCK_MONOTONIC, &time)
    return Int64(time.tv_sec) * 1000 + Int64(time.tv_nsec) / 1_000_000
  }
}
