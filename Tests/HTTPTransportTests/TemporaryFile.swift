import Foundation
import Glibc

@testable import QueueModel

/// A file of its own folder, gone with the value.
final class TemporaryFile: Sendable {
  let path: String
  private let folder: String

  init(_ bytes: [UInt8] = [], name: String = "body") {
    folder = NSTemporaryDirectory() + "transport-" + UUID().uuidString
    path = folder + "/" + name
    do {
      try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
      try Data(bytes).write(to: URL(fileURLWithPath: path))
    } catch {
      preconditionFailure("no temporary file: \(error)")
    }
  }

  deinit {
    try? FileManager.default.removeItem(atPath: folder)
  }

  func truncate(to length: Int64) {
    _ = Glibc.truncate(path, off_t(length))
  }

  func remove() {
    unlink(path)
  }

  func body(offset: Int64 = 0, length: Int64) -> OutgoingBody {
    .file(path: Array(path.utf8), offset: offset, length: length)
  }

  /// All of it, as it looks now (D28).
  var piece: OutgoingBody.Piece {
    var status = stat()
    stat(path, &status)
    return .file(
      path: Array(path.utf8),
      SourceStamp(
        size: Int64(status.st_size), seconds: Int64(status.st_mtim.tv_sec),
        nanoseconds: Int64(status.st_mtim.tv_nsec), inode: UInt64(status.st_ino)),
      range: 0..<Int64(status.st_size))
  }
}

/// Bytes that show when one is missing or doubled.
func pattern(_ count: Int) -> [UInt8] {
  [UInt8](unsafeUninitializedCapacity: count) { buffer, length in
    for index in 0..<count { buffer[index] = UInt8(truncatingIfNeeded: index &* 31 &+ index >> 8) }
    length = count
  }
}
