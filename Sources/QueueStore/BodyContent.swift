import CLinux
import Glibc
import QueueModel

/// What a body will consist of, before it is written.
struct BodyContent {
  enum Piece {
    case bytes([UInt8])
    case file(SourceFile)
  }

  let kind: BodyKind
  let contentType: String?
  let pieces: [Piece]

  /// Bytes, by the sizes that the sources had when they were found.
  var length: Int64 {
    pieces.reduce(0) { sum, piece in
      switch piece {
      case .bytes(let bytes): sum + Int64(bytes.count)
      case .file(let source): sum + source.stamp.size
      }
    }
  }

  /// All of it, in memory.
  func bytes() throws(StageError) -> [UInt8] {
    var all: [UInt8] = []
    all.reserveCapacity(Int(length))
    for piece in pieces {
      switch piece {
      case .bytes(let bytes): all += bytes
      case .file(let source):
        all += try FileCopy.read(source)
        if pieces.count > 1 { source.rest() }
      }
    }
    return all
  }

  /// All of it, into an empty file.
  func write(to file: Int32) throws(StageError) {
    if pieces.count == 1, case .file(let source) = pieces[0], try FileCopy.clone(source, to: file) {
      return
    }
    for piece in pieces {
      switch piece {
      case .bytes(let bytes): try FileCopy.write(bytes[...], to: file)
      case .file(let source):
        try FileCopy.append(source, to: file)
        if pieces.count > 1 { source.rest() }
      }
    }
  }
}

/// Copies between open files: without moving a byte where the file system can, inside the kernel where it
/// cannot, by hand where it must (D27).
enum FileCopy {
  private static let bufferSize = 1 << 20

  /// Makes `file` share the blocks of the source. False when the file system cannot, or the source changed
  /// its length.
  static func clone(_ source: SourceFile, to file: Int32) throws(StageError) -> Bool {
    guard clinux_clone(file, try source.descriptor) == 0 else { return false }
    var status = stat()
    if fstat(file, &status) == 0, Int64(status.st_size) == source.stamp.size { return true }
    ftruncate(file, 0)
    return false
  }

  /// As many bytes as the source had when it was found. Its holes stay holes, so that a sparse file does not
  /// fill the disk.
  static func append(_ source: SourceFile, to file: Int32) throws(StageError) {
    let size = source.stamp.size
    var offset: Int64 = 0
    while offset < size {
      let hole = try nextData(of: source, from: offset) - offset
      try skip(hole, in: file)
      offset += hole
      guard offset < size else { return }
      let end = try nextHole(of: source, from: offset)
      try append(source, from: offset, to: end, into: file)
      offset = end
    }
  }

  /// Where the next byte lies that takes room; the size when there is none.
  private static func nextData(of source: SourceFile, from offset: Int64) throws(StageError) -> Int64 {
    let found = lseek(try source.descriptor, off_t(offset), clinux_seek_data)
    if found < 0 { return errno == ENXIO ? source.stamp.size : offset }
    return min(Int64(found), source.stamp.size)
  }

  /// Where the room ends that `offset` lies in; the size where the file system knows of no holes.
  private static func nextHole(of source: SourceFile, from offset: Int64) throws(StageError) -> Int64 {
    let found = lseek(try source.descriptor, off_t(offset), clinux_seek_hole)
    return found > offset ? min(Int64(found), source.stamp.size) : source.stamp.size
  }

  /// Makes the file that many bytes of nothing longer.
  private static func skip(_ count: Int64, in file: Int32) throws(StageError) {
    guard count > 0 else { return }
    let end = lseek(file, off_t(count), SEEK_CUR)
    guard end >= 0, ftruncate(file, end) == 0 else { throw .storage(errno) }
  }

  private static func append(
    _ source: SourceFile, from start: Int64, to end: Int64, into file: Int32
  ) throws(StageError) {
    var offset = try appendInKernel(source, from: start, to: end, into: file)
    guard offset < end else { return }
    var buffer = [UInt8](repeating: 0, count: bufferSize)
    while offset < end {
      let count = try read(source, at: offset, into: &buffer)
      guard count > 0 else { throw source.shortfall }
      try write(buffer[..<min(count, Int(end - offset))], to: file)
      offset += Int64(count)
    }
  }

  /// The offset up to which bytes were copied; short of `end` where the kernel cannot copy between these
  /// files.
  private static func appendInKernel(
    _ source: SourceFile, from start: Int64, to end: Int64, into file: Int32
  ) throws(StageError) -> Int64 {
    let descriptor = try source.descriptor
    var offset = start
    while offset < end {
      let copied = clinux_copy_file_range(descriptor, offset, file, min(end - offset, 1 << 30))
      if copied > 0 {
        offset += copied
        continue
      }
      // Nothing copied short of the end, or a refusal: reading by hand finds out what is the matter. A full
      // disk is one already.
      let number = errno
      if copied < 0, number == EINTR { continue }
      if copied < 0, [ENOSPC, EDQUOT, EFBIG].contains(number) { throw .storage(number) }
      break
    }
    return offset
  }

  /// As many bytes as the source had when it was found.
  static func read(_ source: SourceFile) throws(StageError) -> [UInt8] {
    var bytes: [UInt8] = []
    var buffer = [UInt8](repeating: 0, count: Staged.rowLimit)
    while bytes.count < source.stamp.size {
      let count = try read(source, at: Int64(bytes.count), into: &buffer)
      guard count > 0 else { throw source.shortfall }
      bytes += buffer[..<min(count, Int(source.stamp.size) - bytes.count)]
    }
    return bytes
  }

  private static func read(
    _ source: SourceFile, at offset: Int64, into buffer: inout [UInt8]
  ) throws(StageError) -> Int {
    let (descriptor, size) = (try source.descriptor, buffer.count)
    switch SystemError.retry({ pread(descriptor, &buffer, size, off_t(offset)) }) {
    case .success(let count): return count
    case .failure: throw .unreadable(field: source.field)
    }
  }

  static func write(_ bytes: ArraySlice<UInt8>, to file: Int32) throws(StageError) {
    var rest = bytes
    while !rest.isEmpty {
      let result = rest.withUnsafeBytes { bytes in
        SystemError.retry { Glibc.write(file, bytes.baseAddress, bytes.count) }
      }
      switch result {
      case .success(let count): rest = rest.dropFirst(count)
      case .failure(let failure): throw .storage(failure.number)
      }
    }
  }
}
