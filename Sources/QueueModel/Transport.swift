/// Performs attempts and reports what happened; decides nothing. The engine hands it an attempt only after
/// the attempt and its X-Request-Id are committed.
package protocol Transport: AnyObject, Sendable {
  /// Begins the attempt. Returns at once; reports come on a thread of the transport's own. Exactly one
  /// `finished` follows unless the attempt is stopped first.
  func start(_ transmission: Transmission)

  /// Ends the attempt without a report of its own. A `finished` that was already on its way may still come.
  func stop(_ attempt: AttemptID)

  /// Settings for attempts begun from now on; idle connections made under other settings are closed (D24).
  func configure(_ settings: ConnectionSettings)

  /// How fast bodies are sent from now on, those of running attempts too (D53).
  func limit(_ bandwidth: Bandwidth)
}

/// Receives what a transport reports, on the transport's thread.
package typealias TransportReceiver = @Sendable (AttemptID, TransportReport) -> Void

/// All that one attempt needs to be put on the wire.
package struct Transmission: Sendable {
  package var attempt: AttemptID
  package var url: RequestURL
  package var method: HTTPMethod
  /// Complete: X-Request-Id, Content-Type and Idempotency-Key are in it; Content-Length and Host are not.
  package var headers: HeaderFields
  package var body: OutgoingBody
  package var timeouts: Timeouts
  /// Whose limit of `Bandwidth.keys` counts.
  package var key: EntryKey?

  package init(
    attempt: AttemptID, url: RequestURL, method: HTTPMethod, headers: HeaderFields, body: OutgoingBody,
    timeouts: Timeouts, key: EntryKey? = nil
  ) {
    self.attempt = attempt
    self.url = url
    self.method = method
    self.headers = headers
    self.body = body
    self.timeouts = timeouts
    self.key = key
  }
}

/// The bytes of one request, sent exactly as long as announced (D30).
package enum OutgoingBody: Sendable {
  case none
  case bytes([UInt8])
  /// `length` bytes of the file at `path` (byte for byte, no NUL) from `offset`; bytes behind them are never
  /// sent.
  case file(path: [UInt8], offset: Int64, length: Int64)
  /// The caller's own files among bytes of ours, in order. Each has to look like its stamp before the attempt
  /// and after it (D28).
  case referenced([Piece])

  package enum Piece: Sendable {
    case bytes([UInt8])
    /// These bytes of the file, through symbolic links.
    case file(path: [UInt8], SourceStamp, range: Range<Int64>)

    package var length: Int64 {
      switch self {
      case .bytes(let bytes): Int64(bytes.count)
      case .file(_, _, let range): Int64(range.count)
      }
    }
  }

  package var length: Int64 {
    switch self {
    case .none: 0
    case .bytes(let bytes): Int64(bytes.count)
    case .file(_, _, let length): length
    case .referenced(let pieces): pieces.reduce(0) { $0 + $1.length }
    }
  }
}

/// What a transport tells about one attempt.
package enum TransportReport: Sendable {
  /// Body bytes that have left the socket's send queue so far (D22).
  case progress(bytesSent: Int64)
  case finished(AttemptResult)
}

/// What happened to one attempt, without a judgement.
package struct AttemptResult: Sendable {
  /// The final head and what came of its body; nil when no complete final head arrived (D11, D13).
  package var answer: Answer?
  /// Why the transfer did not end well; nil when request and answer went whole.
  package var failure: TransferFailure?
  /// The whole request left this machine's send buffer's writer (D12).
  package var requestWentWhole: Bool
  /// Body bytes sent.
  package var bytesSent: Int64
  /// Answer bytes received, heads included.
  package var bytesReceived: Int64
  /// The connection had carried an earlier request (D18).
  package var connectionWasReused: Bool
  /// From the end of the request to the head of the final answer, ms; nil without one (D51).
  package var answeredAfterMs: Int64?

  package init(
    answer: Answer? = nil, failure: TransferFailure? = nil, requestWentWhole: Bool, bytesSent: Int64 = 0,
    bytesReceived: Int64 = 0, connectionWasReused: Bool = false, answeredAfterMs: Int64? = nil
  ) {
    self.answer = answer
    self.failure = failure
    self.requestWentWhole = requestWentWhole
    self.bytesSent = bytesSent
    self.bytesReceived = bytesReceived
    self.connectionWasReused = connectionWasReused
    self.answeredAfterMs = answeredAfterMs
  }
}

/// A final answer of the server, not an interim one (D13).
package struct Answer: Sendable {
  package var status: Int
  /// Names in lower case, duplicates joined with ", ", set-cookie with LF; in order of first appearance
  /// (D31).
  package var headers: [(name: String, value: String)]
  /// Decoded bytes, at most 1 MiB of them, cut at a character where they are text (D23, D31).
  package var body: [UInt8]
  package var completeness: Completeness

  package enum Completeness: Sendable, Equatable {
    /// All of it is here.
    case whole
    /// It arrived whole and is longer than what is kept (D31).
    case capped
    /// The connection ended before the announced end (D12).
    case cut
    /// It cannot be decoded, or exceeds a limit of the transport (D12).
    case unusable
  }

  package init(
    status: Int, headers: [(name: String, value: String)] = [], body: [UInt8] = [],
    completeness: Completeness = .whole
  ) {
    self.status = status
    self.headers = headers
    self.body = body
    self.completeness = completeness
  }

  /// The value of the header `name`, given in lower case.
  package func header(_ name: String) -> String? {
    headers.first { $0.name == name }?.value
  }
}

/// Why a transfer failed.
package struct TransferFailure: Sendable, Equatable {
  package enum Cause: Sendable, Equatable {
    /// No byte of the request was sent: route, name resolution, connect, TLS or a proxy's refusal (D16).
    case beforeRequest
    /// The request had begun.
    case afterRequestBegan
    /// The staged body is missing, or shorter than announced (D30).
    case bodyMissing
    /// A file of the caller's that the body refers to is another one now, or was while it was sent (D28).
    case bodyChanged
    /// The body is there and cannot be read now.
    case bodyUnreadable
  }

  package var cause: Cause
  /// For `errorMessage`: names the time-out or the check that failed; no URL, no header value (D22, D24,
  /// D38).
  package var message: String

  package init(_ cause: Cause, _ message: String) {
    self.cause = cause
    self.message = message
  }
}
