import Glibc

/// The names in a directory, read as they are asked for: memory does not grow with their number.
final class DirectoryListing {
  private let stream: OpaquePointer
  private let descriptor: Int32

  /// Throws the system's error. A symbolic link is no directory.
  init(_ path: String) throws(SystemFailure) {
    let file = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)
    guard file >= 0 else { throw SystemFailure(number: errno) }
    guard let stream = fdopendir(file) else {
      let number = errno
      close(file)
      throw SystemFailure(number: number)
    }
    self.stream = stream
    descriptor = file
  }

  deinit { closedir(stream) }

  /// The next name but `.` and `..`, byte for byte; nil at the end.
  func next() -> Result<[UInt8]?, SystemFailure> {
    while true {
      errno = 0
      guard let entry = readdir(stream) else {
        return errno == 0 ? .success(nil) : .failure(SystemFailure(number: errno))
      }
      let name = withUnsafeBytes(of: &entry.pointee.d_name) { Array($0.prefix { $0 != 0 }) }
      if name != Array(".".utf8), name != Array("..".utf8) { return .success(name) }
    }
  }

  /// What a name stands for; a symbolic link is itself. nil when it is gone or cannot be looked at.
  func status(of name: [UInt8]) -> stat? {
    var status = stat()
    let terminated = name.map { CChar(bitPattern: $0) } + [0]
    return fstatat(descriptor, terminated, &status, AT_SYMLINK_NOFOLLOW) == 0 ? status : nil
  }
}
