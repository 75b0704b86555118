import Glibc
import QueueModel

/// The files of bodies, in a folder that carries the identity of the database that names them (D37). Used
/// from any thread.
package final class BodyFolder: Sendable {
  /// Absolute, no symbolic links.
  let path: String
  /// The directory of the queue.
  let queueDirectory: String
  private let descriptor: Int32

  /// Makes the folder if it is missing.
  init(in directory: QueueDirectory, identity: String) throws(StoreError) {
    path = "\(directory.path)/bodies-\(identity)"
    queueDirectory = directory.path
    if mkdir(path, 0o700) == 0 {
      try directory.sync()
    } else if errno != EEXIST {
      throw BodyFolder.unusable(path)
    }
    descriptor = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW)
    guard descriptor >= 0, fchmod(descriptor, 0o700) == 0 else { throw BodyFolder.unusable(path) }
  }

  /// Finds the folder; makes and changes nothing.
  init(reading directory: QueueDirectory, identity: String) throws(StoreError) {
    path = "\(directory.path)/bodies-\(identity)"
    queueDirectory = directory.path
    descriptor = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW)
    guard descriptor >= 0 else { throw BodyFolder.unusable(path) }
  }

  deinit { Glibc.close(descriptor) }

  private static func unusable(_ path: String) -> StoreError {
    let number = errno
    return .unusable(reason: "\(path) cannot be used", errno: number)
  }

  /// The path of a file of the folder, byte for byte.
  func path(of name: String) -> [UInt8] { Array("\(path)/\(name)".utf8) }

  /// Unlinks a file; one that is gone already is as good.
  func discard(_ name: String) {
    unlinkat(descriptor, name, 0)
  }

  /// A new, empty file of this name, open for writing.
  func make(_ name: String) throws(StageError) -> Int32 {
    let file = openat(descriptor, name, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0o600)
    guard file >= 0 else { throw .storage(errno) }
    // The umask may have taken away from the mode, here and elsewhere.
    fchmod(file, 0o600)
    return file
  }

  /// Gives an open file a name in the folder. False where the file system, or the file's owner, does not let
  /// it have another one.
  func link(_ file: Int32, as name: String) -> Bool {
    linkat(AT_FDCWD, "/proc/self/fd/\(file)", descriptor, name, AT_SYMLINK_FOLLOW) == 0
  }

  /// What lies under this name; nil when nothing does.
  func status(of name: String) -> stat? {
    var status = stat()
    return fstatat(descriptor, name, &status, AT_SYMLINK_NOFOLLOW) == 0 ? status : nil
  }

  /// Lets nobody else read a file that came with another mode (D38).
  func close(_ name: String) { fchmodat(descriptor, name, 0o600, 0) }

  /// Makes the names in the folder survive a power cut.
  func sync() throws(StageError) {
    if let number = SystemError.of({ fsync(descriptor) }) { throw .storage(number) }
  }

  /// Names a database that is being made.
  static func newIdentity() -> String { SystemBits().uuid() }
}

/// Bits of the system's generator.
private struct SystemBits: Randomness {
  func next() -> UInt64 {
    var generator = SystemRandomNumberGenerator()
    return generator.next()
  }
}

extension StageError {
  /// A failed system call on a file of the store.
  static func storage(_ number: Int32) -> StageError {
    .storage(message: "the body cannot be written: \(SystemError.text(number))")
  }
}
