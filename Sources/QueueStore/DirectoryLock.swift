import Glibc

/// The right to use a directory, held by the kernel until it is released or the process ends, however it
/// ends. Taken before the database is opened.
package final class DirectoryLock: Sendable {
  /// Absolute and without symbolic links.
  package let directory: String
  private let file: Int32

  /// Makes the directory if it is missing. Throws `locked` at once while another process holds it.
  package init(_ directory: String) throws(StoreError) {
    self.directory = try QueueDirectory(preparing: directory).path
    let path = "\(self.directory)/lock"
    let file = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0o600)
    if file == -1 {
      let number = errno
      throw .unusable(reason: "\(path) cannot be opened", errno: number)
    }
    fchmod(file, 0o600)
    if let number = SystemError.of({ flock(file, LOCK_EX | LOCK_NB) }) {
      close(file)
      if number == EWOULDBLOCK { throw .locked }
      throw .unusable(reason: "\(path) cannot be locked", errno: number)
    }
    self.file = file
  }

  deinit { close(file) }

  /// Lets another process in. The file stays: a lock on a name that was unlinked would lock nobody out.
  package func release() {
    flock(file, LOCK_UN)
  }
}
