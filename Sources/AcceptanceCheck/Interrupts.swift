import CLinux
import Glibc

/// Turns SIGINT, SIGTERM and SIGHUP into an end of the waits, so that everything is cleaned up first.
final class Interrupts {
  private let descriptor: Int32
  private var blocked = sigset_t()

  init(on watch: Watch) throws(Setback) {
    signal(SIGPIPE, SIG_IGN)
    sigemptyset(&blocked)
    for number in [SIGINT, SIGTERM, SIGHUP] { sigaddset(&blocked, number) }
    pthread_sigmask(SIG_BLOCK, &blocked, nil)
    descriptor = signalfd(-1, &blocked, clinux_signalfd_flags)
    guard descriptor >= 0 else { throw .unmet("signalfd: \(String(cString: strerror(errno)))") }
    watch.add(descriptor, POLLIN) { [descriptor] _ in
      var caught = signalfd_siginfo()
      let size = MemoryLayout<signalfd_siginfo>.size
      guard read(descriptor, &caught, size) == size else { return }
      watch.interrupt(Int32(caught.ssi_signo))
    }
  }

  deinit { close(descriptor) }
}
