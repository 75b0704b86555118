import Glibc
import JSONRPC
import OuttrayProtocol
import QueueEngine
import QueueModel
import Synchronization

/// The host of a relay, on descriptor 1: whole lines, one answer to each request, and how long it has taken
/// nothing.
final class RelayedHost: Sendable {
  private let open = Mutex(InFlight())
  /// Whether the last line was said. Held while a line is written.
  private let output = Mutex(false)
  /// Since when it takes nothing of what is being written to it, boot clock in ms; nil when nothing is.
  private let waitsSince = Mutex(Int64?.none)

  /// A request is on its way to the owner.
  func begin(_ id: RequestID) { open.withLock { _ = $0.begin(id) } }

  func say(_ line: [UInt8], answering id: RequestID? = nil) {
    output.withLock { isOver in
      guard !isOver else { return }
      if let id { open.withLock { $0.end(id) } }
      write(line)
    }
  }

  /// Answers what is open, and says nothing from then on.
  func refuseRest() {
    output.withLock { isOver in
      guard !isOver else { return }
      isOver = true
      for id in open.withLock({ $0.all }) { write(Reply.error(id: id, RPCError(Refusal.shutdown))) }
    }
  }

  /// How long it has taken nothing although there is something for it, ms.
  func waitingTime() -> Int64 { waitsSince.withLock { $0.map { SystemClock.bootTime() - $0 } ?? 0 } }

  /// The end of a host that reads no more is the end of this process.
  private func write(_ line: [UInt8]) {
    let note: () -> Void = { [self] in waitsSince.withLock { $0 = SystemClock.bootTime() } }
    note()
    if !writeAll(line, to: 1, onProgress: note) { _exit(0) }
    waitsSince.withLock { $0 = nil }
  }
}

/// Writes all of it, waiting for room; false when the far end is gone.
func writeAll(_ bytes: [UInt8], to descriptor: Int32, onProgress: () -> Void = {}) -> Bool {
  var rest = bytes[...]
  while !rest.isEmpty {
    // A call that waits returns when it has written everything, so it gets no more than a pipe holds.
    let count = rest.withUnsafeBytes { write(descriptor, $0.baseAddress, min($0.count, 64 << 10)) }
    if count > 0 {
      rest = rest.dropFirst(count)
      onProgress()
    } else if count < 0 && errno == EAGAIN {
      // The host's own end may be set not to wait.
      var ready = pollfd(fd: descriptor, events: Int16(POLLOUT), revents: 0)
      poll(&ready, 1, -1)
    } else if count < 0 && errno != EINTR {
      return false
    }
  }
  return true
}
