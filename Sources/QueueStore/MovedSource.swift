import Glibc
import QueueModel

/// A file that a host gave away. Its name is removed once the entry that owns its bytes is committed, and
/// only if it still names that file (D28).
package struct MovedSource: Sendable, Equatable {
  var path: FilePath
  /// The body file that is the same file under another name. nil when the bytes were copied.
  var link: String?
  /// As it was when it was taken. Tells a copied file from another that came into its place: its number may
  /// have been given to that one.
  var identity: FileIdentity

  /// Removes the name. nil when nothing is left to do, else the number of what went wrong.
  func remove(_ folder: BodyFolder) -> Int32? {
    var status = stat()
    guard lstat(path.cString, &status) == 0 else { return MovedSource.isGone(errno) ? nil : errno }
    if let link {
      // The link holds the file's number, so nothing else can have it.
      guard let linked = folder.status(of: link), linked.st_dev == status.st_dev,
        linked.st_ino == status.st_ino
      else { return nil }
    } else if FileIdentity(status) != identity {
      return nil
    }
    guard unlink(path.cString) == 0 else { return MovedSource.isGone(errno) ? nil : errno }
    if let link, folder.status(of: link)?.st_nlink == 1 { folder.close(link) }
    return nil
  }

  private static func isGone(_ number: Int32) -> Bool { number == ENOENT || number == ENOTDIR }
}

/// What tells one file from every other, and from itself after a change.
struct FileIdentity: Sendable, Equatable {
  /// Device and inode number.
  var device: Int64
  var inode: Int64
  var stamp: SourceStamp
  /// Of the inode, nanoseconds since the epoch.
  var changedAt: Int64

  init(device: Int64, inode: Int64, stamp: SourceStamp, changedAt: Int64) {
    self.device = device
    self.inode = inode
    self.stamp = stamp
    self.changedAt = changedAt
  }

  init(_ status: stat) {
    self.init(
      device: Int64(bitPattern: UInt64(status.st_dev)), inode: Int64(bitPattern: UInt64(status.st_ino)),
      stamp: SourceStamp(status),
      changedAt: Int64(status.st_ctim.tv_sec) * 1_000_000_000 + Int64(status.st_ctim.tv_nsec))
  }
}

extension FilePath {
  /// The folder that an absolute path lies in.
  var folder: FilePath {
    FilePath(bytes: Array(bytes[...(bytes.lastIndex(of: UInt8(ascii: "/")) ?? 0)]))
  }

  /// Makes the names in this folder survive a power cut. The number of what went wrong.
  func syncNames() -> Int32? {
    let descriptor = open(cString, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
    // It is gone as well, or it may be written and not read; then the file system keeps the removal when it
    // likes.
    guard descriptor >= 0 else { return nil }
    defer { close(descriptor) }
    return SystemError.of { fsync(descriptor) }
  }

  /// With its NUL, as system calls take it.
  var cString: [CChar] { bytes.map { CChar(bitPattern: $0) } + [0] }
}
