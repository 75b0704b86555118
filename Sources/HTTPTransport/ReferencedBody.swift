import Glibc
import QueueModel

/// A body in the caller's own files, between bytes of ours (D28). Has one file open at a time.
final class ReferencedBody {
  private struct Piece {
    var start: Int64
    var content: OutgoingBody.Piece

    var end: Int64 { start + content.length }
  }

  private let pieces: [Piece]
  private var opened: (piece: Int, descriptor: Int32)?

  /// Looks whether every file is as it was when it was enqueued.
  init(_ contents: [OutgoingBody.Piece]) throws(TransferFailure) {
    var start: Int64 = 0
    pieces = contents.map { content in
      defer { start += content.length }
      return Piece(start: start, content: content)
    }
    if let change { throw change }
  }

  deinit { closeFile() }

  /// What is wrong with one of the files as it lies there now; nil when all are as they were.
  var change: TransferFailure? {
    for piece in pieces {
      guard case .file(let path, let stamp, _) = piece.content else { continue }
      var status = stat()
      guard stat(ReferencedBody.terminated(path), &status) == 0 else { return ReferencedBody.failure(errno) }
      if !stamp.isOf(status) { return ReferencedBody.changed }
    }
    return nil
  }

  /// At most `count` bytes from `position` on, which lies before the end; at least one.
  func read(
    _ count: Int, at position: Int64, into buffer: UnsafeMutableRawBufferPointer
  ) throws(TransferFailure) -> Int {
    guard let index = pieces.firstIndex(where: { position < $0.end }) else { return 0 }
    let piece = pieces[index]
    let count = Int(min(Int64(count), piece.end - position))
    let offset = position - piece.start
    switch piece.content {
    case .bytes(let bytes):
      bytes.withUnsafeBytes {
        buffer.copyMemory(from: .init(rebasing: $0[Int(offset)..<Int(offset) + count]))
      }
      return count
    case .file(let path, let stamp, let range):
      let descriptor = try open(path, stamp, piece: index)
      let start = range.lowerBound + offset
      let isLast = position + Int64(count) == piece.end
      let part = PageFit.part(of: count, isLast: isLast, at: start, into: buffer)
      while true {
        let got = pread(descriptor, buffer.baseAddress, part, off_t(start))
        if got > 0 { return got }
        if got == 0 { throw ReferencedBody.changed }
        if errno != EINTR { throw ReferencedBody.failure(errno) }
      }
    }
  }

  private func open(
    _ path: [UInt8], _ stamp: SourceStamp, piece index: Int
  ) throws(TransferFailure) -> Int32 {
    if let opened, opened.piece == index { return opened.descriptor }
    closeFile()
    // Without waiting: a FIFO may lie there by now.
    let flags = O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY
    let descriptor = Glibc.open(ReferencedBody.terminated(path), flags)
    guard descriptor >= 0 else { throw ReferencedBody.failure(errno) }
    opened = (index, descriptor)
    var status = stat()
    guard fstat(descriptor, &status) == 0, stamp.isOf(status) else { throw ReferencedBody.changed }
    return descriptor
  }

  private func closeFile() {
    if let opened { close(opened.descriptor) }
    opened = nil
  }

  private static let changed = TransferFailure(
    .bodyChanged, "a file that the request refers to has changed since it was enqueued")

  private static func failure(_ code: Int32) -> TransferFailure {
    switch code {
    case ENOENT, ENOTDIR, ELOOP: TransferFailure(.bodyMissing, "a file that the request refers to is missing")
    case let code:
      TransferFailure(
        .bodyUnreadable, "a file that the request refers to cannot be read now (errno \(code))")
    }
  }

  private static func terminated(_ path: [UInt8]) -> [CChar] { path.map(CChar.init(bitPattern:)) + [0] }
}

extension SourceStamp {
  /// Whether this is what a file looks like: size, modification time and inode.
  fileprivate func isOf(_ status: stat) -> Bool {
    status.st_mode & S_IFMT == S_IFREG
      && self
        == SourceStamp(
          size: Int64(status.st_size), seconds: Int64(status.st_mtim.tv_sec),
          nanoseconds: Int64(status.st_mtim.tv_nsec), inode: UInt64(status.st_ino))
  }
}
