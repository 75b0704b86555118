import CLinux
import Glibc

/// The terminal of a full screen: taken over, and put back as it was whatever ends it.
final class Terminal {
  /// Where keys come from; nil when there is no keyboard.
  let keys: Int32?
  private let output: Int32 = 1
  private var before = termios()
  private(set) var isEntered = false

  init() {
    if isatty(0) != 0 {
      keys = 0
    } else {
      // Keys are typed at the terminal also when something is piped in.
      let terminal = open("/dev/tty", O_RDWR | O_CLOEXEC)
      keys = terminal >= 0 ? terminal : nil
    }
    tcgetattr(keys ?? output, &before)
  }

  /// The other screen, without cursor, and without breaking lines at the last column.
  private static let greeting = "\u{1B}[?1049h\u{1B}[?25l\u{1B}[?7l\u{1B}[2J"
  private static let farewell = "\u{1B}[?2026l\u{1B}[0m\u{1B}[?7h\u{1B}[?25h\u{1B}[?1049l"

  func enter() throws(Failure) {
    var raw = before
    // Without keys of its own it is ended by the terminal's.
    if keys != nil {
      raw.c_iflag &= ~tcflag_t(ICRNL | IXON | INLCR | IGNCR | ISTRIP | BRKINT)
      raw.c_lflag &= ~tcflag_t(ECHO | ICANON | ISIG | IEXTEN)
    }
    clinux_guard(keys ?? output, output, &before, Terminal.farewell)
    isEntered = true
    // Keys that were typed before mean nothing here.
    tcsetattr(keys ?? output, TCSAFLUSH, &raw)
    try write(Terminal.greeting)
  }

  /// Does nothing when it was left before.
  func leave() {
    guard isEntered else { return }
    isEntered = false
    // One that is gone needs no farewell.
    try? write(Terminal.farewell)
    tcsetattr(keys ?? output, TCSADRAIN, &before)
    clinux_unguard()
  }

  /// As it is now.
  var size: (columns: Int, rows: Int) {
    var (columns, rows): (Int32, Int32) = (0, 0)
    clinux_window(output, &columns, &rows)
    func number(_ name: String) -> Int? {
      Output.variable(name).flatMap { Int($0) }.flatMap { $0 > 0 ? $0 : nil }
    }
    return (
      columns > 0 ? Int(columns) : number("COLUMNS") ?? 80, rows > 0 ? Int(rows) : number("LINES") ?? 24
    )
  }

  func write(_ text: String) throws(Failure) {
    var rest = Array(text.utf8)[...]
    while !rest.isEmpty {
      let count = rest.withUnsafeBytes { Glibc.write(output, $0.baseAddress, $0.count) }
      if count < 0 && errno == EAGAIN {
        var ready = pollfd(fd: output, events: Int16(POLLOUT), revents: 0)
        poll(&ready, 1, -1)
      } else if count < 0 && errno != EINTR {
        throw Failure(
          Status.internalError, "the terminal could not be written: \(String(cString: strerror(errno)))")
      }
      rest = rest.dropFirst(max(0, count))
    }
  }

  /// The bytes of keys that were typed; nil when the terminal is gone.
  func typed() -> [UInt8]? {
    guard let keys else { return [] }
    let bytes = [UInt8](unsafeUninitializedCapacity: 1024) { buffer, count in
      count = max(0, read(keys, buffer.baseAddress, buffer.count))
    }
    return bytes.isEmpty ? nil : bytes
  }
}

/// The signals that a full screen answers to by itself, as a descriptor.
final class TerminalSignals {
  let descriptor: Int32
  private var usual = sigset_t()

  init() throws(Failure) {
    var set = TerminalSignals.set([SIGWINCH, SIGTERM, SIGINT, SIGHUP, SIGQUIT, SIGTSTP, SIGCONT])
    pthread_sigmask(SIG_BLOCK, &set, &usual)
    descriptor = signalfd(-1, &set, clinux_signalfd_flags)
    guard descriptor >= 0 else {
      throw Failure(Status.internalError, "signalfd: \(String(cString: strerror(errno)))")
    }
  }

  deinit {
    close(descriptor)
    pthread_sigmask(SIG_SETMASK, &usual, nil)
  }

  /// Those that have come.
  func caught() -> [Int32] {
    var signals: [Int32] = []
    var caught = signalfd_siginfo()
    let size = MemoryLayout<signalfd_siginfo>.size
    while read(descriptor, &caught, size) == size { signals.append(Int32(caught.ssi_signo)) }
    return signals
  }

  /// Stops as if nobody waited for SIGTSTP, and returns when the process goes on.
  ///
  /// - Parameter isForAll: The whole job stops, as after a key.
  func stop(isForAll: Bool) {
    var set = TerminalSignals.set([SIGTSTP])
    kill(isForAll ? 0 : getpid(), SIGTSTP)
    pthread_sigmask(SIG_UNBLOCK, &set, nil)
    pthread_sigmask(SIG_BLOCK, &set, nil)
  }

  private static func set(_ numbers: [Int32]) -> sigset_t {
    var set = sigset_t()
    sigemptyset(&set)
    for number in numbers { sigaddset(&set, number) }
    return set
  }
}
