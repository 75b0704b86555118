import JSONRPC
import JSONText
import OuttrayProtocol
import QueueEngine
import QueueModel
import Synchronization

/// One host at the far end of two descriptors: requests in, each answered once, events out. Frames may be put
/// in from any thread; the loop alone reads and writes the descriptors.
final class Connection: Host {
  let id: HostID
  private let limits: WireLimits
  private let content: Mutex<Content>
  /// Tells the loop that there is something to write, or that reading may go on.
  private let wake: @Sendable () -> Void
  /// Tells the engine that the reader has caught up.
  private let onCaughtUp: @Sendable (HostID) -> Void

  private struct Content {
    var outbox = Outbox()
    var inFlight = InFlight()
    /// The loop was woken and has not taken since.
    var isWoken = false
    /// The engine holds back events of a walk for this connection.
    var owesWalk = false
    /// Reads that wait until the one before is answered and written.
    var postponed: [@Sendable () -> Void] = []
    var isReadingPage = false
    /// Requests read so far.
    var requests: Int64 = 0
  }

  init(
    _ id: HostID, limits: WireLimits, wake: @escaping @Sendable () -> Void,
    onCaughtUp: @escaping @Sendable (HostID) -> Void
  ) {
    self.id = id
    self.limits = limits
    self.wake = wake
    self.onCaughtUp = onCaughtUp
    content = Mutex(Content())
  }

  // MARK: Answers

  /// Notes a request; false when its id is still in flight.
  func begin(_ id: RequestID) -> Bool {
    content.withLock { content in
      content.requests += 1
      return content.inFlight.begin(id)
    }
  }

  /// The id belongs to a request that has no answer yet.
  func isInFlight(_ id: RequestID) -> Bool { content.withLock { $0.inFlight.contains(id) } }

  /// Answers a request; `entries` are those that it is about, so that the reply precedes every event about
  /// them.
  func answer(_ id: RequestID, about entries: [EntryID] = [], _ result: (inout JSONWriter) -> Void) {
    put(Reply.result(id: id, result), answering: id, about: entries)
  }

  func refuse(_ id: RequestID?, _ error: RPCError) {
    put(Reply.error(id: id, error), answering: id, about: [])
  }

  /// The first line to an attached process, which is no frame of the protocol.
  func greet(_ line: [UInt8]) { add { $0.outbox.reply(line, about: []) } }

  private func put(_ frame: [UInt8], answering id: RequestID?, about entries: [EntryID]) {
    add { content in
      content.outbox.reply(frame, about: entries)
      if let id { content.inFlight.end(id) }
    }
  }

  // MARK: Large answers

  /// Runs `read` once the answer to the one before has been written as far as that a further one costs
  /// bounded memory: a host that asks for many pages and reads none would have them all in ours.
  func whenRoom(_ read: @escaping @Sendable () -> Void) {
    content.withLock { $0.postponed.append(read) }
    readOn()
  }

  /// The read that ran has been answered.
  func pageAnswered() { add { $0.isReadingPage = false } }

  private func readOn() {
    let next: (@Sendable () -> Void)? = content.withLock { content in
      guard !content.isReadingPage, !content.postponed.isEmpty,
        content.outbox.replyBytes < Connection.pageRoom
      else { return nil }
      content.isReadingPage = true
      return content.postponed.removeFirst()
    }
    next?()
  }

  /// Bytes of unwritten replies beyond which a page has to wait.
  private static let pageRoom = 2 << 20

  // MARK: Events

  func receive(_ event: HostEvent) { add { $0.outbox.event(event) } }

  var isBehind: Bool {
    content.withLock { content in
      if content.outbox.isBehind { content.owesWalk = true }
      return content.outbox.isBehind
    }
  }

  private func add(_ change: (inout Content) -> Void) {
    let wakes = content.withLock { content in
      change(&content)
      defer { content.isWoken = true }
      return !content.isWoken
    }
    if wakes { wake() }
  }

  // MARK: The loop's side

  /// The next bytes to write, whole frames; empty when there are none.
  func take(limit: Int) -> [UInt8] {
    let (bytes, caughtUp) = content.withLock { content in
      content.isWoken = false
      let bytes = content.outbox.take(limit: limit)
      let caughtUp = content.owesWalk && !content.outbox.isBehind
      if caughtUp { content.owesWalk = false }
      return (bytes, caughtUp)
    }
    if caughtUp { onCaughtUp(id) }
    readOn()
    return bytes
  }

  /// Too much is unanswered or unwritten to read further.
  var isFull: Bool {
    content.withLock {
      $0.inFlight.count >= limits.maxInFlight || $0.outbox.replyBytes >= limits.maxLine
    }
  }

  var unanswered: Int { content.withLock { $0.inFlight.count } }

  var hasUnwritten: Bool { content.withLock { !$0.outbox.isEmpty } }

  var requests: Int64 { content.withLock { $0.requests } }

  var dropped: Int64 { content.withLock { $0.outbox.dropped } }
}

/// Sizes that both sides of the wire hold to.
package struct WireLimits: Sendable {
  /// Longest line without its LF, bytes.
  package var maxLine: Int = Limits.maxLine
  /// Unanswered requests at which reading waits.
  package var maxInFlight: Int = Limits.maxInFlight

  package init() {}
}
