import CLinux
import Glibc

/// What ends a relay besides the end of its owner: its host, its parent and signals.
final class RelayEnds: Sendable {
  /// The host's input was read to its end.
  let inputEnded: Waker
  /// No more of it is to be read.
  private let stop: Waker
  private let signals: Int32
  private let parent: Int32?
  private let isOnTerminal = isatty(0) != 0

  init(watchesParent: Bool) throws {
    signals = try Signals.blocked()
    inputEnded = try Waker()
    stop = try Waker()
    parent = watchesParent ? ParentWatch.descriptor() : nil
  }

  /// True when there is something to read; false when the parent has ended or a signal asks for the end.
  func waitForInput() -> Bool {
    while true {
      var ready = [stop.descriptor, 0, parent ?? -1].map { pollfd(fd: $0, events: Int16(POLLIN), revents: 0) }
      guard poll(&ready, nfds_t(ready.count), -1) > 0 else { continue }
      if ready[0].revents != 0 { return false }
      // What it had sent is read first.
      if ready[1].revents != 0 { return true }
      if ready[2].revents != 0 { return false }
    }
  }

  /// Returns when the process has to end whatever is open: some time after a signal or the end of the parent,
  /// or when a host whose input ended takes nothing. A second signal, or a host that can read no more, ends
  /// it here.
  func wait(_ host: RelayedHost) {
    var watched = [signals, parent ?? -1, inputEnded.descriptor].map {
      pollfd(fd: $0, events: Int16(POLLIN), revents: 0)
    }
    // Only its break is waited for.
    watched.append(pollfd(fd: 1, events: 0, revents: 0))
    var deadline: Int64?
    var isStopped = false
    var hasInputEnded = false
    while true {
      let isLimited = deadline != nil || hasInputEnded
      poll(&watched, nfds_t(watched.count), isLimited ? RelayEnds.lookMs : -1)
      if watched[3].revents != 0 { _exit(0) }
      if watched[0].revents != 0, asksForEnd() {
        if isStopped { _exit(0) }
        isStopped = true
        stop.wake()
        deadline = deadline ?? RelayEnds.inTime()
      }
      if watched[1].revents != 0 {
        watched[1].fd = -1
        deadline = deadline ?? RelayEnds.inTime()
      }
      if watched[2].revents != 0 {
        watched[2].fd = -1
        hasInputEnded = true
      }
      if let deadline, SystemClock.bootTime() >= deadline { return }
      if hasInputEnded, host.waitingTime() >= RelayEnds.patienceMs { return }
    }
  }

  private func asksForEnd() -> Bool {
    Signals.next(signals).contains { $0 != SIGINT || isOnTerminal }
  }

  private static func inTime() -> Int64 { SystemClock.bootTime() + patienceMs }

  /// As the owner's.
  private static let patienceMs: Int64 = 2000
  private static let lookMs: Int32 = 100
}
