import CLinux
import Glibc
import QueueModel

/// A file that a host named, open for reading.
final class SourceFile {
  let field: String
  let path: FilePath
  /// As it was when it was found.
  let stamp: SourceStamp
  let identity: FileIdentity
  private let name: [CChar]
  private let followsLinks: Bool
  private var opened: Int32?

  /// - Parameters:
  ///   - field: the JSON path that errors name.
  ///   - directory: the queue's own, in which nothing may be named (D29).
  ///   - followsLinks: false for a file that is moved: what a link leads to has other names as well.
  init(
    _ path: FilePath, field: String, outside directory: String, followsLinks: Bool = true
  ) throws(StageError) {
    name = path.cString
    self.field = field
    self.path = path
    self.followsLinks = followsLinks
    let found = try SourceFile.find(name, field, outside: directory, followsLinks: followsLinks)
    let file = try SourceFile.open(name, field, followsLinks: followsLinks)
    do throws(StageError) {
      let status = try SourceFile.examine(file, field)
      stamp = SourceStamp(status)
      identity = FileIdentity(status)
      guard stamp == found else { throw .changed(field: field) }
    } catch {
      close(file)
      throw error
    }
    opened = file
  }

  deinit { rest() }

  /// Opens the file again if it rests; it has to be the one that was found.
  var descriptor: Int32 {
    get throws(StageError) {
      if let opened { return opened }
      let file = try SourceFile.open(name, field, followsLinks: followsLinks)
      opened = file
      guard isUnchanged else { throw .changed(field: field) }
      return file
    }
  }

  /// Holds no descriptor until it is read: a form may name more files than a process can open.
  func rest() {
    if let opened { close(opened) }
    opened = nil
  }

  /// False when the file has changed since it was found.
  var isUnchanged: Bool {
    var status = stat()
    let result = opened.map { fstat($0, &status) } ?? stat(name, &status)
    return result == 0 && SourceStamp(status) == stamp
  }

  /// Why the file ended short of its size.
  var shortfall: StageError { isUnchanged ? .sizeless(field: field) : .changed(field: field) }

  /// What the name stands for, without opening it: a FIFO would wait, a device would do something, and to
  /// close the database would drop the locks that SQLite holds on it.
  private static func find(
    _ name: [CChar], _ field: String, outside directory: String, followsLinks: Bool
  ) throws(StageError) -> SourceStamp {
    let handle = Glibc.open(name, clinux_path_only | O_CLOEXEC | (followsLinks ? 0 : O_NOFOLLOW))
    guard handle >= 0 else { throw refusal(errno, field) }
    defer { close(handle) }
    var status = stat()
    guard fstat(handle, &status) == 0 else { throw .unreadable(field: field) }
    guard status.st_mode & S_IFMT == S_IFREG else {
      throw status.st_mode & S_IFMT == S_IFLNK ? .symbolicLink(field: field) : .notRegular(field: field)
    }
    guard !lies(handle, inside: directory) else { throw .insideDirectory(field: field) }
    return SourceStamp(status)
  }

  /// The name may stand for something else by now, hence without waiting.
  private static func open(
    _ name: [CChar], _ field: String, followsLinks: Bool
  ) throws(StageError) -> Int32 {
    let flags = O_RDONLY | O_NONBLOCK | O_CLOEXEC | O_NOCTTY
    let file = Glibc.open(name, followsLinks ? flags : flags | O_NOFOLLOW)
    guard file >= 0 else {
      throw errno == ELOOP && !followsLinks ? .symbolicLink(field: field) : refusal(errno, field)
    }
    return file
  }

  /// A regular file whose last byte is where its size says: files of /proc and /sys have another size than
  /// content, and some never end.
  private static func examine(_ file: Int32, _ field: String) throws(StageError) -> stat {
    var status = stat()
    guard fstat(file, &status) == 0 else { throw .unreadable(field: field) }
    guard status.st_mode & S_IFMT == S_IFREG else { throw .notRegular(field: field) }
    var byte: UInt8 = 0
    let count = SystemError.retry { pread(file, &byte, 1, max(0, status.st_size - 1)) }
    switch count {
    case .success(let count) where count == min(1, status.st_size): return status
    case .success:
      var later = stat()
      let holdsStill = fstat(file, &later) == 0 && SourceStamp(later) == SourceStamp(status)
      throw holdsStill ? .sizeless(field: field) : .changed(field: field)
    case .failure: throw .unreadable(field: field)
    }
  }

  private static func refusal(_ number: Int32, _ field: String) -> StageError {
    switch number {
    case ENOENT, ENOTDIR, ENAMETOOLONG: .missing(field: field)
    // Opening a socket says so, and so does a device without a driver.
    case ENXIO, ENODEV: .notRegular(field: field)
    case EMFILE, ENFILE, ENOMEM: .storage(number)
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
      size: Int64(status.st_size), seconds: Int64(status.st_mtim.tv_sec),
      nanoseconds: Int64(status.st_mtim.tv_nsec), inode: UInt64(status.st_ino))
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
