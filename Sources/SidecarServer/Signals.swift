import CLinux
import Glibc

/// SIGTERM, SIGHUP and SIGINT as events of the loop; SIGPIPE is ignored.
final class Signals {
  private let descriptor: Int32

  init() throws(LoopError) { descriptor = try Signals.blocked() }

  deinit { close(descriptor) }

  func register(on loop: EventLoop, _ onSignal: @escaping (Int32) -> Void) throws(LoopError) {
    _ = try loop.add(descriptor, events: clinux_epoll_in) { [descriptor] _ in
      Signals.next(descriptor).forEach(onSignal)
    }
  }

  /// A descriptor that says which of them came. Has to be made before any thread is started, so that all
  /// inherit the mask.
  static func blocked() throws(LoopError) -> Int32 {
    signal(SIGPIPE, SIG_IGN)
    var set = sigset_t()
    sigemptyset(&set)
    for number in [SIGTERM, SIGHUP, SIGINT] { sigaddset(&set, number) }
    pthread_sigmask(SIG_BLOCK, &set, nil)
    let descriptor = signalfd(-1, &set, clinux_signalfd_flags)
    guard descriptor >= 0 else { throw LoopError("signalfd", errno) }
    return descriptor
  }

  /// Those that have come since the last call.
  static func next(_ descriptor: Int32) -> [Int32] {
    var signals: [Int32] = []
    var caught = signalfd_siginfo()
    let size = MemoryLayout<signalfd_siginfo>.size
    while read(descriptor, &caught, size) == size { signals.append(Int32(caught.ssi_signo)) }
    return signals
  }
}
