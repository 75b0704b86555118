import QueueModel

/// When one exchange has to show a sign of life, and why it ends if it does not (D22). Times in milliseconds
/// of `MonotonicTime`.
struct Deadlines {
  enum End: Equatable {
    /// No connection within `connectMs`.
    case connect
    /// No byte for `stallMs`.
    case stall
    /// No final head within `responseMs` after the last byte sent.
    case head
    /// The answer did not end within `responseMs` after its head.
    case answer
  }

  let timeouts: Timeouts
  private let startedAt: Int64
  private var begunAt: Int64?
  private var leftAt: Int64?
  private var headAt: Int64?
  private var answerMoves = false
  private var lastByteAt: Int64

  init(_ timeouts: Timeouts, now: Int64) {
    self.timeouts = timeouts
    startedAt = now
    lastByteAt = now
  }

  /// The request may be written from now on.
  mutating func begin(at now: Int64) {
    begunAt = now
    lastByteAt = now
  }

  /// Bytes left the send queue, or bytes of an answer came.
  mutating func move(at now: Int64) {
    lastByteAt = now
  }

  /// The last byte of the request has left the send queue.
  mutating func leave(at now: Int64) {
    if leftAt == nil { leftAt = now }
  }

  /// The status line of the final head came.
  mutating func beginAnswer(at now: Int64) {
    answerMoves = true
  }

  mutating func endHead(at now: Int64) {
    headAt = now
  }

  /// How long the server took until the head, ms. When a short request left is not seen in time to tell; it
  /// begins and leaves as good as at once. A long one that was not seen leaving took the server no time.
  func answeredAfter(shortRequest: Bool) -> Int64? {
    guard let begunAt, let headAt else { return nil }
    return headAt - (shortRequest ? begunAt : min(leftAt ?? headAt, headAt))
  }

  /// The moment at which the exchange ends if nothing changes, and how.
  var due: (at: Int64, end: End) {
    let stall = (at: lastByteAt + timeouts.stallMs, end: End.stall)
    guard begunAt != nil else { return (startedAt + timeouts.connectMs, .connect) }
    guard let leftAt else { return stall }
    let response: (at: Int64, end: End)
    if let headAt {
      response = (max(headAt, leftAt) + timeouts.responseMs, .answer)
    } else {
      response = (leftAt + timeouts.responseMs, .head)
    }
    return answerMoves && stall.at < response.at ? stall : response
  }

  /// For `errorMessage`.
  func message(for end: End) -> String {
    switch end {
    case .connect: "connectMs: no connection within \(timeouts.connectMs) ms"
    case .stall: "stallMs: no byte for \(timeouts.stallMs) ms"
    case .head: "responseMs: no answer within \(timeouts.responseMs) ms after the request"
    case .answer: "responseMs: the answer did not end within \(timeouts.responseMs) ms after its head"
    }
  }
}
