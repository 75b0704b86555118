import Glibc

/// Ends the process as if nobody had caught the signal, so that a shell sees what happened.
package func end(bySignal number: Int32) -> Never {
  signal(number, SIG_DFL)
  var signals = sigset_t()
  sigemptyset(&signals)
  sigaddset(&signals, number)
  raise(number)
  pthread_sigmask(SIG_UNBLOCK, &signals, nil)
  _exit(128 + number)
}
