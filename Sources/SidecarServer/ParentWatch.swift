import CLinux
import Glibc

/// Notices the end of the parent at start, whoever holds stdin.
enum ParentWatch {
  /// A pidfd on it, which needs no polling; nil when the parent is not visible.
  static func descriptor() -> Int32? {
    let parent = getppid()
    guard parent > 1 else { return nil }
    let descriptor = clinux_pidfd_open(parent)
    guard descriptor >= 0 else { return nil }
    // It may have ended meanwhile, and its number be another's.
    guard getppid() == parent else {
      close(descriptor)
      return nil
    }
    return descriptor
  }
}
