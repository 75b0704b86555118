import CLinux
import Glibc

/// SIGTERM, SIGHUP and SIGINT as events of the loop; SIGPIPE is ignored.
final class Signals {
  private let descriptor: Int32

  /// Has to be made before any thread is started, so that all inherit the mask.
  init() throws(LoopError) {
    signal(SIGPIPE, SIG_IGN)
    var set = sigset_t()
    sigemptyset(&set)
    for number in [SIGTERM, SIGHUP, SIGINT] { sigaddset(&set, number) }
    pthread_sigmask(SIG_BLOCK, &set, nil)
    descriptor = signalfd(-1, &set, clinux_signalfd_flags)
    guard descriptor >= 0 else { throw LoopError("signalfd", errno) }
  }

  deinit { close(descriptor) }

  func register(on loop: EventLoop, _ onSignal: @escaping (Int32) -> Void) throws(LoopError) {
    _ = try loop.add(descriptor, events: clinux_epoll_in) { [descriptor] _ in
      var caught = signalfd_siginfo()
      while read(descriptor, &caught, MemoryLayout<signalfd_siginfo>.size)
        == MemoryLayout<signalfd_siginfo>.size
      {
        onSignal(Int32(caught.ssi_signo))
      }
    }
  }
}
