import CLinux
import Glibc

/// A child process with pipes of ours as its standard input and output, and a file as its standard error.
final class ChildProcess {
  enum Ending: Equatable, CustomStringConvertible {
    case exited(Int32)
    case killed(signal: Int32)

    var description: String {
      switch self {
      case .exited(let status): "ended with status \(status)"
      case .killed(let signal): "was ended by signal \(signal)"
      }
    }
  }

  /// The read end of its standard output.
  let output: Int32
  private var input: Int32
  private let pid: pid_t
  private var ending: Ending?

  init(_ program: String, _ arguments: [String], log: String) throws(Setback) {
    let toChild = try ChildProcess.pipe()
    let fromChild: [Int32]
    do {
      fromChild = try ChildProcess.pipe()
    } catch {
      for end in toChild { close(end) }
      throw error
    }
    var pid = pid_t()
    let code = ChildProcess.spawn(&pid, program, arguments, input: toChild[0], output: fromChild[1], log)
    close(toChild[0])
    close(fromChild[1])
    guard code == 0 else {
      close(toChild[1])
      close(fromChild[0])
      throw .unmet("cannot start \(program): \(String(cString: strerror(code)))")
    }
    self.pid = pid
    input = toChild[1]
    output = fromChild[0]
  }

  /// Leaves no child behind.
  deinit {
    if hasEnded() == nil {
      kill()
      while waitpid(pid, nil, 0) < 0 && errno == EINTR {}
    }
    endInput()
    close(output)
  }

  /// False when nobody reads any more. Waits for a reader that is slow: a sidecar always reads so little.
  func write(_ bytes: [UInt8]) -> Bool {
    var rest = bytes[...]
    while !rest.isEmpty {
      let count = rest.withUnsafeBytes { Glibc.write(input, $0.baseAddress, $0.count) }
      if count < 0 && errno == EINTR { continue }
      guard count > 0 else { return false }
      rest = rest.dropFirst(count)
    }
    return true
  }

  /// The next bytes of its output, once there are some; empty at the end.
  func read() -> [UInt8] {
    [UInt8](unsafeUninitializedCapacity: 64 << 10) { buffer, count in
      count = max(0, Glibc.read(output, buffer.baseAddress, buffer.count))
    }
  }

  func endInput() {
    guard input >= 0 else { return }
    close(input)
    input = -1
  }

  func kill() {
    // Not reaped yet, so the number is still its own.
    if ending == nil { Glibc.kill(pid, SIGKILL) }
  }

  /// How it ended; nil while it runs. Reaps it.
  func hasEnded() -> Ending? {
    if ending != nil { return ending }
    var status: Int32 = 0
    guard waitpid(pid, &status, WNOHANG) == pid else { return nil }
    ending = status & 0x7F == 0 ? .exited(status >> 8 & 0xFF) : .killed(signal: status & 0x7F)
    return ending
  }

  private static func pipe() throws(Setback) -> [Int32] {
    var ends: [Int32] = [0, 0]
    guard Glibc.pipe(&ends) == 0 else { throw .unmet("pipe: \(String(cString: strerror(errno)))") }
    for end in ends { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
    return ends
  }

  /// Begins with no signal blocked or ignored, whatever holds for us.
  private static func spawn(
    _ pid: inout pid_t, _ program: String, _ arguments: [String], input: Int32, output: Int32, _ log: String
  ) -> Int32 {
    var actions = posix_spawn_file_actions_t()
    posix_spawn_file_actions_init(&actions)
    defer { posix_spawn_file_actions_destroy(&actions) }
    posix_spawn_file_actions_adddup2(&actions, input, 0)
    posix_spawn_file_actions_adddup2(&actions, output, 1)
    posix_spawn_file_actions_addopen(&actions, 2, log, O_WRONLY | O_CREAT | O_APPEND, 0o600)
    var attributes = posix_spawnattr_t()
    posix_spawnattr_init(&attributes)
    defer { posix_spawnattr_destroy(&attributes) }
    var signals = sigset_t()
    sigemptyset(&signals)
    posix_spawnattr_setsigmask(&attributes, &signals)
    sigaddset(&signals, SIGPIPE)
    posix_spawnattr_setsigdefault(&attributes, &signals)
    posix_spawnattr_setflags(&attributes, Int16(POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF))
    var words: [UnsafeMutablePointer<CChar>?] = arguments.map { strdup($0) } + [nil]
    defer { for word in words { free(word) } }
    return posix_spawn(&pid, program, &actions, &attributes, &words, clinux_environment())
  }
}
