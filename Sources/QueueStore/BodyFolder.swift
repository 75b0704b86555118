import Glibc
import QueueModel
import Synchronization

/// The files of bodies, in a folder that carries the identity of the database that names them (D37). Used
/// from any thread.
package final class BodyFolder: Sendable {
  /// Absolute, no symbolic links.
  let path: String
  /// The directory of the queue.
  let queueDirectory: String
  private let descriptor: Int32
  /// Names made by this process that no committed row has; nil once the process ends.
  private let unclaimed = Mutex<Set<String>?>([])

  private static let prefix = "bodies-"

  /// Whether a name in the directory of a queue is that of a folder of bodies, this or another.
  static func isFolder(_ name: String) -> Bool { name.hasPrefix(prefix) }

  /// Makes the folder if it is missing.
  init(in directory: QueueDirectory, identity: String) throws(StoreError) {
    path = "\(directory.path)/\(BodyFolder.prefix)\(identity)"
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
    path = "\(directory.path)/\(BodyFolder.prefix)\(identity)"
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
    claim(name)
  }

  /// A row of this name was committed, or nobody wants the file.
  func claim(_ name: String) {
    _ = unclaimed.withLock { $0?.remove(name) }
  }

  /// The file is on its way to a row.
  func isUnclaimed(_ name: String) -> Bool {
    unclaimed.withLock { $0?.contains(name) ?? true }
  }

  /// Unlinks what is on its way to a row and will not get one, since the process ends. Makes no more.
  func discardUnclaimed() {
    let names = unclaimed.withLock { names in
      defer { names = nil }
      return names ?? []
    }
    for name in names { unlinkat(descriptor, name, 0) }
  }

  /// Deletes a body that no row needs. The system's error when it stays.
  func delete(_ name: String) -> Int32? {
    SystemError.of { unlinkat(descriptor, name, 0) }
  }

  /// The name is on its way to a row from now on.
  private func announce(_ name: String) throws(StageError) {
    let mayMake = unclaimed.withLock { names in
      names?.insert(name)
      return names != nil
    }
    guard mayMake else { throw .storage(message: "the process is ending") }
  }

  /// A new, empty file of this name, open for writing.
  func make(_ name: String) throws(StageError) -> Int32 {
    try announce(name)
    let file = openat(descriptor, name, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0o600)
    guard file >= 0 else {
      let number = errno
      claim(name)
      throw .storage(number)
    }
    // The umask may have taken away from the mode, here and elsewhere.
    fchmod(file, 0o600)
    return file
  }

  /// Gives an open file a name in the folder. False where the file system, or the file's owner, does not let
  /// it have another one.
  func link(_ file: Int32, as name: String) throws(StageError) -> Bool {
    try announce(name)
    guard linkat(AT_FDCWD, "/proc/self/fd/\(file)", descriptor, name, AT_SYMLINK_FOLLOW) == 0 else {
      claim(name)
      return false
    }
    return true
  }

  /// What lies under this name; nil when nothing does.
  func status(of name: String) -> stat? {
    var status = stat()
    return fstatat(descriptor, name, &status, AT_SYMLINK_NOFOLLOW) == 0 ? status : nil
  }

  /// Lets nobody else read a file that came with another mode (D38).
  func close(_ name: String) { fchmodat(descriptor, name, 0o600, 0) }

  /// All bytes of a file; nil when they cannot be read.
  func contents(of name: String) -> [UInt8]? {
    // Without waiting: a FIFO in the body's place must not hold up the database's thread.
    let file = openat(descriptor, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK)
    guard file >= 0 else { return nil }
    defer { Glibc.close(file) }
    var status = stat()
    guard fstat(file, &status) == 0, status.st_mode & S_IFMT == S_IFREG else { return nil }
    var bytes = [UInt8](repeating: 0, count: Int(status.st_size))
    var count = 0
    while count < bytes.count {
      let result = bytes.withUnsafeMutableBytes { buffer in
        SystemError.retry { pread(file, buffer.baseAddress! + count, buffer.count - count, off_t(count)) }
      }
      guard case .success(let read) = result, read > 0 else { return nil }
      count += read
    }
    return bytes
  }

  /// Makes the names in the folder survive a power cut.
  func sync() throws(StageError) {
    if let number = syncNames() { throw .storage(number) }
  }

  /// As `sync`; the number of what went wrong.
  func syncNames() -> Int32? {
    SystemError.of { fsync(descriptor) }
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
