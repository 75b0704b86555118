import Glibc

/// Descriptors 0 to 2 as the process found them.
enum StandardStreams {
  /// Puts /dev/null where a stream was closed, before anything else is opened: the lock or a connection to a
  /// server would take its number, and a line of the log or a frame would be written into it.
  static func fillGaps() {
    for descriptor in Int32(0)...2 where fcntl(descriptor, F_GETFD) < 0 {
      // The lowest free number, which is this one.
      _ = open("/dev/null", O_RDWR)
    }
  }
}
