import Glibc
import Synchronization

/// A child process whose standard input and output are ours. Foundation's Process waits by a run loop of its
/// own and lets every child inherit the pipes of the others.
final class Program: Sendable {
  struct Failed: Error {}

  /// One socket is the child's input and output.
  private let socket: Int32
  private let pid: Mutex<pid_t?>

  init(_ path: String, _ arguments: [String]) throws {
    var ends: [Int32] = [0, 0]
    guard socketpair(AF_UNIX, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0, &ends) == 0 else {
      throw Failed()
    }
    var actions = posix_spawn_file_actions_t()
    posix_spawn_file_actions_init(&actions)
    defer { posix_spawn_file_actions_destroy(&actions) }
    for descriptor: Int32 in [0, 1] { posix_spawn_file_actions_adddup2(&actions, ends[1], descriptor) }
    posix_spawn_file_actions_addopen(&actions, 2, "/dev/null", O_WRONLY, 0)
    // What other tests have open is not the child's; accept(2) alone cannot say so.
    for descriptor: Int32 in 3..<1000 { posix_spawn_file_actions_addclose(&actions, descriptor) }
    var words: [UnsafeMutablePointer<CChar>?] = ([path] + arguments).map { strdup($0) } + [nil]
    defer { for word in words { free(word) } }
    var pid = pid_t()
    let code = posix_spawn(&pid, path, &actions, nil, &words, nil)
    close(ends[1])
    socket = ends[0]
    self.pid = Mutex(code == 0 ? pid : nil)
    guard code == 0 else { throw Failed() }
  }

  deinit {
    terminate()
    _ = end()
    close(socket)
  }

  func write(_ bytes: [UInt8]) {
    var sent = 0
    while sent < bytes.count {
      let count = bytes.withUnsafeBytes {
        send(socket, $0.baseAddress! + sent, bytes.count - sent, Int32(MSG_NOSIGNAL))
      }
      guard count > 0 else { return }
      sent += count
    }
  }

  func endInput() {
    shutdown(socket, Int32(SHUT_WR))
  }

  /// The next bytes; nil at the end.
  func read() -> [UInt8]? {
    let bytes = [UInt8](unsafeUninitializedCapacity: 65_536) { buffer, count in
      count = max(0, Glibc.read(socket, buffer.baseAddress, buffer.count))
    }
    return bytes.isEmpty ? nil : bytes
  }

  func terminate() {
    pid.withLock { pid in
      if let pid { kill(pid, SIGKILL) }
    }
  }

  /// Waits for the end; the exit status, or -1 after a signal.
  func end() -> Int32 {
    pid.withLock { pid in
      guard let child = pid else { return -1 }
      var status: Int32 = 0
      while waitpid(child, &status, 0) < 0 && errno == EINTR {}
      pid = nil
      return status & 0x7F == 0 ? status >> 8 & 0xFF : -1
    }
  }
}
