import Glibc
import QueueModel

/// A file that a host named, open for reading; found to be regular before it was opened, so that a FIFO, a
/// device or a socket holds nothing up.
final class SourceFile {
  let descriptor: Int32
  let field: String
  let path: FilePath
  /// As it was when it was opened.
  let stamp: SourceStamp
  let identity: FileIdentity

  /// - Parameters:
  ///   - field: the JSON path that errors name.
  ///   - directory: the queue's own, in which nothing may be named (D29).
  ///   - followsLinks: false for a file that is moved: what a link leads to has other names as well.
  init(
    _ path: FilePath, field: String, outside directory: String, followsLinks: Bool = true
  ) throws(StageError) {
    let name = path.cString
    var status = stat()
    guard (followsLinks ? stat(name, &status) : lstat(name, &status)) == 0 else {
      throw SourceFile.refusal(errno, field)
    }
    guard followsLinks || status.st_mode & S_IFMT != S_IFLNK else { throw .symbolicLink(field: field) }
    guard status.st_mode & S_IFMT == S_IFREG else { throw .notRegular(field: field) }
    // What the name stands for may have changed meanwhile, hence without waiting.
    let flags = O_RDONLY | O_NONBLOCK | O_CLOEXEC | O_NOCTTY
    let file = open(name, followsLinks ? flags : flags | O_NOFOLLOW)
    guard file >= 0 else {
      let number = errno
      throw number == ELOOP && !followsLinks
        ? .symbolicLink(field: field) : SourceFile.refusal(number, field)
    }
    guard fstat(file, &status) == 0, status.st_mode & S_IFMT == S_IFREG else {
      close(file)
      throw .notRegular(field: field)
    }
    guard !SourceFile.lies(file, inside: directory) else {
      close(file)
      throw .insideDirectory(field: field)
    }
    descriptor = file
    self.field = field
    self.path = path
    stamp = SourceStamp(status)
    identity = FileIdentity(status)
  }

  deinit { close(descriptor) }

  /// False when the file has changed since it was opened.
  var isUnchanged: Bool {
    var status = stat()
    return fstat(descriptor, &status) == 0 && SourceStamp(status) == stamp
  }

  private static func refusal(_ number: Int32, _ field: String) -> StageError {
    switch number {
    case ENOENT, ENOTDIR, ENAMETOOLONG: .missing(field: field)
    // Opening a socket says so, and so does a device without a driver.
    case ENXIO, ENODEV: .notRegular(field: field)
    default: .unreadable(field: field)
    }
  }

  private static func lies(_ file: Int32, inside directory: String) -> Bool {
    var real = [CChar](repeating: 0, count: Int(PATH_MAX))
    let count = real.withUnsafeMutableBufferPointer {
      $0.baseAddress.map { start in readlink("/proc/self/fd/\(file)", start, Int(PATH_MAX)) } ?? 0
    }
    return real.prefix(max(0, count)).lazy.map { UInt8(bitPattern: $0) }.starts(with: "\(directory)/".utf8)
  }
}

extension SourceStamp {
  init(_ status: stat) {
    self.init(
      size: Int64(status.st_size),
      modifiedAt: Int64(status.st_mtim.tv_sec) * 1_000_000_000 + Int64(status.st_mtim.tv_nsec))
  }

  /// What a path names now; nil when that is no regular file.
  init?(of path: FilePath) {
    var status = stat()
    guard stat(path.cString, &status) == 0,
      status.st_mode & S_IFMT == S_IFREG
    else { return nil }
    self.init(status)
  }
}
