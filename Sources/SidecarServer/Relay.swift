import Glibc
import JSONRPC
import OuttrayProtocol
import QueueEngine
import QueueModel

/// A process beside the one that owns the directory: it hands its host's lines to the owner and the owner's
/// to its host, whole, and answers what is open when the owner ends (protocol, section 5).
///
/// Each direction has a thread that waits, so that a reader who is slow holds up the writer behind it and
/// memory stays bounded. A third one never waits for either, and sees to the end.
package final class Relay: Sendable {
  private let owner: Int32
  private let maxLine: Int
  private let host = RelayedHost()
  private let log: DescriptorLog

  /// Greets the owner of `directory`; nil when nobody there answers before `deadline`, boot clock in ms.
  package init?(
    to directory: String, onDisconnect: OnDisconnect, keepsAwake: Bool, maxLine: Int, deadline: Int64,
    log: DescriptorLog
  ) {
    // An owner that ends leaves connections behind that nobody reads.
    signal(SIGPIPE, SIG_IGN)
    guard let owner = AttachPoint.connect(to: directory) else { return nil }
    let wish = AttachGreeting.Wish(onDisconnect: onDisconnect, keepsAwake: keepsAwake)
    guard AttachGreeting.exchange(.host(wish), on: owner, before: deadline) else {
      close(owner)
      return nil
    }
    self.owner = owner
    self.maxLine = maxLine
    self.log = log
  }

  /// Until the owner has ended or has nothing left for this host. Never returns.
  package func run(watchesParent: Bool) throws -> Never {
    let ends = try RelayEnds(watchesParent: watchesParent)
    try Thread.start { [self] in toHost() }
    try Thread.start { [self] in toOwner(ends) }
    ends.wait(host)
    log.write(.info, "the end begins", [.init("reason", "its host or its parent has gone, or a signal came")])
    // The host is owed answers and may not read them, which must not hold up the end.
    try Thread.start { [self] in
      host.refuseRest()
      log.flush()
      _exit(0)
    }
    usleep(500_000)
    _exit(0)
  }

  // MARK: Host to owner

  private func toOwner(_ ends: RelayEnds) {
    var frames = FrameReader(maxLine: maxLine)
    var buffer = [UInt8](repeating: 0, count: 256 << 10)
    while ends.waitForInput() {
      let count = read(0, &buffer, buffer.count)
      if count < 0 && [EINTR, EAGAIN].contains(errno) { continue }
      guard count > 0 else { break }
      buffer.withUnsafeBytes { bytes in
        frames.feed(UnsafeRawBufferPointer(rebasing: bytes[..<count])) { pass($0) }
      }
    }
    frames.finish { pass($0) }
    // What was asked for is still answered; then the owner closes, and the other thread ends the process.
    shutdown(owner, Int32(SHUT_WR))
    ends.inputEnded.wake()
  }

  private func pass(_ frame: Frame) {
    switch frame {
    case .tooLong: host.say(Reply.error(id: nil, .lineTooLong(limit: maxLine)))
    case .line(let line):
      if let id = Relay.id(of: Incoming.read(line)) { host.begin(id) }
      // A write that fails leaves the request open; the other thread sees the end and answers it.
      _ = writeAll(line + [0x0A], to: owner)
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
      buffer.withUnsafeBytes { bytes in
        frames.feed(UnsafeRawBufferPointer(rebasing: bytes[..<count])) { frame in
          guard case .line(let line) = frame else { return }
          host.say(line + [0x0A], answering: RequestID(answeredBy: line))
        }
      }
    }
    log.write(.info, "the owner has closed the connection")
    // A line that was cut off is dropped: its request, if it answers one, is still open.
    host.refuseRest()
    log.flush()
    _exit(0)
  }
}
