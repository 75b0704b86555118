import CLinux
import Glibc
import JSONRPC
import OuttrayProtocol
import QueueEngine
import Synchronization

/// A process beside the one that owns the directory: it hands its host's lines to the owner and the owner's
/// to
/// its host, whole, and answers what is open when the owner ends (protocol, section 5).
///
/// Each direction has a thread that waits, so that a reader who is slow holds up the writer behind it and
/// memory stays bounded.
package final class Relay: Sendable {
  private let owner: Int32
  private let maxLine: Int
  private let open = Mutex(InFlight())
  private let output = Mutex(())

  /// Greets the owner of `directory`; nil when nobody there answers before `deadline`, boot clock in ms.
  package init?(to directory: String, onDisconnect: OnDisconnect, maxLine: Int, deadline: Int64) {
    guard let owner = AttachPoint.connect(to: directory) else { return nil }
    let greeting = AttachGreeting.request(onDisconnect)
    guard Relay.write(greeting, to: owner),
      Relay.reads(AttachGreeting.accepted, from: owner, before: deadline)
    else {
      close(owner)
      return nil
    }
    self.owner = owner
    self.maxLine = maxLine
  }

  /// Until the owner has ended or has nothing left for this host. Never returns.
  package func run(watchesParent: Bool) throws -> Never {
    signal(SIGPIPE, SIG_IGN)
    let ends = try Ends(watchesParent: watchesParent)
    try Thread.start { [self] in toHost() }
    toOwner(ends)
    // What was asked for is still answered; then the owner closes, and the other thread ends the process.
    shutdown(owner, Int32(SHUT_WR))
    while true { pause() }
  }

  // MARK: Host to owner

  private func toOwner(_ ends: Ends) {
    var frames = FrameReader(maxLine: maxLine)
    var buffer = [UInt8](repeating: 0, count: 256 << 10)
    while ends.waitForInput() {
      let count = read(0, &buffer, buffer.count)
      if count < 0 && errno == EINTR { continue }
      guard count > 0 else { break }
      frames.feed(Array(buffer.prefix(count))) { pass($0) }
    }
    frames.finish { pass($0) }
  }

  private func pass(_ frame: Frame) {
    switch frame {
    case .tooLong: say(Reply.error(id: nil, .lineTooLong(limit: maxLine)))
    case .line(let line):
      if let id = Relay.id(of: Incoming.read(line)) { _ = open.withLock { $0.begin(id) } }
      // A write that fails leaves the request open; the other thread sees the end and answers it.
      _ = Relay.write(line + [0x0A], to: owner)
    }
  }

  private static func id(of incoming: Incoming) -> RequestID? {
    switch incoming {
    case .request(let request): request.id
    case .refused(let id, _): id
    case .notification: nil
    }
  }

  // MARK: Owner to host

  private func toHost() {
    // The owner's lines have no limit of ours: it may serve longer ones than this process reads.
    var frames = FrameReader(maxLine: Int(Int32.max))
    var buffer = [UInt8](repeating: 0, count: 256 << 10)
    while true {
      let count = read(owner, &buffer, buffer.count)
      if count < 0 && errno == EINTR { continue }
      guard count > 0 else { break }
      frames.feed(Array(buffer.prefix(count))) { frame in
        guard case .line(let line) = frame else { return }
        if let id = RequestID(answeredBy: line) { open.withLock { $0.end(id) } }
        say(line + [0x0A])
      }
    }
    // A line that was cut off is dropped: its request, if it answers one, is still open.
    for id in open.withLock({ $0.all }) { say(Reply.error(id: id, RPCError(Refusal.shutdown))) }
    _exit(0)
  }

  /// Writes to the host; the end of a host that reads no more is the end of this process.
  private func say(_ line: [UInt8]) {
    let isWritten = output.withLock { _ in Relay.write(line, to: 1) }
    if !isWritten { _exit(0) }
  }

  // MARK: Bytes

  /// Writes all of it, waiting for room.
  private static func write(_ bytes: [UInt8], to descriptor: Int32) -> Bool {
    var rest = bytes[...]
    while !rest.isEmpty {
      let count = rest.withUnsafeBytes { Glibc.write(descriptor, $0.baseAddress, $0.count) }
      if count > 0 {
        rest.removeFirst(count)
      } else if errno == EAGAIN {
        // The host's own end may be set not to wait.
        var ready = pollfd(fd: descriptor, events: Int16(POLLOUT), revents: 0)
        poll(&ready, 1, -1)
      } else if errno != EINTR {
        return false
      }
    }
    return true
  }

  /// Reads exactly `expected`, byte by byte, so that nothing behind it is taken.
  private static func reads(_ expected: [UInt8], from descriptor: Int32, before deadline: Int64) -> Bool {
    for byte in expected {
      var ready = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
      let wait = max(0, deadline - SystemClock.bootTime())
      guard poll(&ready, 1, Int32(clamping: wait)) == 1 else { return false }
      var found: UInt8 = 0
      guard read(descriptor, &found, 1) == 1, found == byte else { return false }
    }
    return true
  }
}

/// What ends the reading from the host besides the end of its input.
private struct Ends {
  private let signals: Int32
  private let parent: Int32?
  private let isOnTerminal = isatty(0) != 0

  init(watchesParent: Bool) throws {
    signals = try Signals.blocked()
    parent = watchesParent ? ParentWatch.descriptor() : nil
  }

  /// True when there is something to read; false when the parent has ended or a signal asks for the end.
  func waitForInput() -> Bool {
    while true {
      var ready = [signals, parent ?? -1, 0].map { pollfd(fd: $0, events: Int16(POLLIN), revents: 0) }
      guard poll(&ready, nfds_t(ready.count), -1) > 0 else { continue }
      if ready[0].revents != 0, Signals.next(signals).contains(where: { $0 != SIGINT || isOnTerminal }) {
        return false
      }
      if ready[2].revents != 0 { return true }
      if ready[1].revents != 0 { return false }
    }
  }
}
