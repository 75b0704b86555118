import CLinux
import Glibc

/// The two descriptors that a host gave us. Reads and writes never block the loop and never change how other
/// holders of the same descriptors see them.
struct Wire {
  let input: Int32
  private let output: Int32
  private let isSocket: Bool

  /// Takes descriptor 0 and 1 away: the wire gets descriptors of its own, 0 becomes /dev/null and 1 points at
  /// stderr, so that no stray print can reach the wire.
  static func takingStandardStreams() throws(LoopError) -> Wire {
    let input = fcntl(0, F_DUPFD_CLOEXEC, 3)
    let output = fcntl(1, F_DUPFD_CLOEXEC, 3)
    guard input >= 0, output >= 0 else { throw LoopError("fcntl", errno) }
    let null = open("/dev/null", O_RDONLY)
    if null >= 0 {
      dup2(null, 0)
      Glibc.close(null)
    }
    dup2(2, 1)
    return Wire(input: input, output: output)
  }

  /// Takes both; closes `output` when it has a description of its own instead.
  init(input: Int32, output: Int32) {
    self.input = input
    var status = stat()
    fstat(output, &status)
    isSocket = status.st_mode & S_IFMT == S_IFSOCK
    // O_NONBLOCK belongs to the open file description, which the host may share with others: a pipe is opened
    // anew under its own description, a socket is asked call by call.
    let own =
      status.st_mode & S_IFMT == S_IFIFO
      ? open("/proc/self/fd/\(output)", O_WRONLY | O_NONBLOCK | O_CLOEXEC) : -1
    if own >= 0 {
      Glibc.close(output)
      self.output = own
    } else {
      self.output = output
    }
  }

  var outputDescriptor: Int32 { output }

  enum Transfer {
    case bytes(Int)
    case wouldBlock
    /// The far end is gone: end of file, EPIPE and ECONNRESET alike.
    case ended
  }

  /// A read would not wait now.
  var hasInput: Bool {
    var ready = pollfd(fd: input, events: Int16(POLLIN), revents: 0)
    return poll(&ready, 1, 0) == 1
  }

  func close() {
    Glibc.close(input)
    Glibc.close(output)
  }

  /// Reads what is there, once; call it when the loop says that something is.
  func read(into buffer: UnsafeMutableRawBufferPointer) -> Transfer {
    result(of: Glibc.read(input, buffer.baseAddress, buffer.count), endsAtZero: true)
  }

  /// Writes as much as goes without waiting.
  func write(_ bytes: UnsafeRawBufferPointer) -> Transfer {
    let count =
      isSocket
      ? send(output, bytes.baseAddress, bytes.count, Int32(MSG_DONTWAIT) | Int32(MSG_NOSIGNAL))
      : Glibc.write(output, bytes.baseAddress, bytes.count)
    return result(of: count, endsAtZero: false)
  }

  private func result(of count: Int, endsAtZero: Bool) -> Transfer {
    if count > 0 { return .bytes(count) }
    if count == 0 { return endsAtZero ? .ended : .bytes(0) }
    switch errno {
    case EAGAIN, EINTR: return .wouldBlock
    default: return .ended
    }
  }
}
