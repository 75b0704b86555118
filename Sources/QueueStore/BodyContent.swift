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

  /// Bytes, by the sizes that the sources had when they were opened.
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
      case .file(let source): all += try FileCopy.read(source)
      }
    }
    return all
  }

  /// All of it, into an empty file.
  func write(to file: Int32) throws(StageError) {
    if pieces.count == 1, case .file(let source) = pieces[0], FileCopy.clone(source, to: file) { return }
    for piece in pieces {
      switch piece {
      case .bytes(let bytes): try FileCopy.write(bytes[...], to: file)
      case .file(let source): try FileCopy.append(source, to: file)
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
  static func clone(_ source: SourceFile, to file: Int32) -> Bool {
    guard clinux_clone(file, source.descriptor) == 0 else { return false }
    var status = stat()
    if fstat(file, &status) == 0, Int64(status.st_size) == source.stamp.size { return true }
    ftruncate(file, 0)
    return false
  }

  /// As many bytes as the source had when it was opened.
  static func append(_ source: SourceFile, to file: Int32) throws(StageError) {
    var offset = try appendInKernel(source, to: file)
    var buffer = [UInt8](repeating: 0, count: bufferSize)
    while offset < source.stamp.size {
      let count = try read(source, at: offset, into: &buffer)
      guard count > 0 else { throw .changed(field: source.field) }
      try write(buffer[..<min(count, Int(source.stamp.size - offset))], to: file)
      offset += Int64(count)
    }
  }

  /// Bytes copied; fewer than all where the kernel cannot copy between these files.
  private static func appendInKernel(
    _ source: SourceFile, to file: Int32
  ) throws(StageError) -> Int64 {
    var offset: Int64 = 0
    while offset < source.stamp.size {
      let wanted = min(source.stamp.size - offset, 1 << 30)
      let copied = clinux_copy_file_range(source.descriptor, offset, file, wanted)
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

  /// As many bytes as the source had when it was opened.
  static func read(_ source: SourceFile) throws(StageError) -> [UInt8] {
    var bytes: [UInt8] = []
    var buffer = [UInt8](repeating: 0, count: Staged.rowLimit)
    while bytes.count < source.stamp.size {
      let count = try read(source, at: Int64(bytes.count), into: &buffer)
      guard count > 0 else { throw .changed(field: source.field) }
      bytes += buffer[..<min(count, Int(source.stamp.size) - bytes.count)]
    }
    return bytes
  }

  private static func read(
    _ source: SourceFile, at offset: Int64, into buffer: inout [UInt8]
  ) throws(StageError) -> Int {
    let (descriptor, size) = (source.descriptor, buffer.count)
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
