import Glibc
import QueueModel

/// The bytes of one request, read by offset, so that a second reading begins at byte 0 again.
final class BodySource {
  /// Announced bytes; never more of them are read (D30).
  let length: Int64
  private(set) var position: Int64 = 0
  /// Why the last `read` gave nothing, or what `lookAgain` found.
  private(set) var failure: TransferFailure?

  private enum Place {
    case memory([UInt8])
    case file(descriptor: Int32, offset: Int64)
    case referenced(ReferencedBody)
  }

  private let place: Place

  /// Opens a file body and looks whether it is as long as announced, before anything is sent.
  init(opening body: OutgoingBody) throws(TransferFailure) {
    length = body.length
    switch body {
    case .none:
      place = .memory([])
    case .bytes(let bytes):
      place = .memory(bytes)
    case .file(let path, let offset, let length):
      place = .file(
        descriptor: try BodySource.open(path, holding: offset + length), offset: offset)
    case .referenced(let pieces):
      place = .referenced(try ReferencedBody(pieces))
    }
  }

  deinit {
    if case .file(let descriptor, _) = place { close(descriptor) }
  }

  /// The next bytes, at most as many as `buffer` holds: 0 at the announced end, nil on a failure (`failure`).
  func read(into buffer: UnsafeMutableRawBufferPointer) -> Int? {
    let count = Int(min(Int64(buffer.count), length - position))
    guard count > 0 else { return 0 }
    switch place {
    case .memory(let bytes):
      let start = Int(position)
      bytes.withUnsafeBytes { buffer.copyMemory(from: .init(rebasing: $0[start..<start + count])) }
      position += Int64(count)
      return count
    case .file(let descriptor, let offset):
      let isLast = position + Int64(count) == length
      let part = PageFit.part(of: count, isLast: isLast, at: offset + position, into: buffer)
      return read(part, from: descriptor, at: offset + position, into: buffer)
    case .referenced(let body):
      do throws(TransferFailure) {
        let got = try body.read(count, at: position, into: buffer)
        position += Int64(got)
        return got
      } catch {
        failure = error
        return nil
      }
    }
  }

  /// The exchange has ended: a file of the caller's that is not as it was spoils what was sent (D28).
  func lookAgain() {
    guard failure == nil, case .referenced(let body) = place else { return }
    failure = body.change
  }

  /// Goes to an offset of the body; false when there is none such.
  func seek(to offset: Int64) -> Bool {
    guard (0...length).contains(offset) else { return false }
    position = offset
    return true
  }

  private func read(
    _ count: Int, from descriptor: Int32, at offset: Int64, into buffer: UnsafeMutableRawBufferPointer
  ) -> Int? {
    while true {
      let got = pread(descriptor, buffer.baseAddress, count, off_t(offset))
      if got > 0 {
        position += Int64(got)
        return got
      }
      if got == 0 {
        failure = BodySource.tooShort
        return nil
      }
      if errno != EINTR {
        failure = TransferFailure(.bodyUnreadable, "the staged body cannot be read (errno \(errno))")
        return nil
      }
    }
  }

  private static let tooShort = TransferFailure(.bodyMissing, "the staged body is shorter than announced")

  private static func open(_ path: [UInt8], holding end: Int64) throws(TransferFailure) -> Int32 {
    let terminated = path.map(CChar.init(bitPattern:)) + [0]
    // O_NONBLOCK: a FIFO put in the body's place must not hold up every other transfer.
    let descriptor = Glibc.open(terminated, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK)
    guard descriptor >= 0 else {
      let code = errno
      switch code {
      case ENOENT, ENOTDIR, ELOOP:
        throw TransferFailure(.bodyMissing, "the staged body is missing")
      // What the system says of a socket and of a device without a driver.
      case ENXIO, ENODEV:
        throw TransferFailure(.bodyMissing, "the staged body is not a regular file")
      default:
        throw TransferFailure(.bodyUnreadable, "the staged body cannot be opened (errno \(code))")
      }
    }
    var status = stat()
    guard fstat(descriptor, &status) == 0 else {
      let code = errno
      close(descriptor)
      throw TransferFailure(.bodyUnreadable, "the staged body cannot be examined (errno \(code))")
    }
    guard status.st_mode & S_IFMT == S_IFREG else {
      close(descriptor)
      throw TransferFailure(.bodyMissing, "the staged body is not a regular file")
    }
    guard Int64(status.st_size) >= end else {
      close(descriptor)
      throw tooShort
    }
    return descriptor
  }
}

/// Thrown where an attempt ends before libcurl has a part in it.
extension TransferFailure: Error {}
