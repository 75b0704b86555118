import CCurl
import CLinux
import Glibc
import QueueModel

/// One wire request and its answer: what libcurl's hooks read and write, and what can be seen of it
/// meanwhile.
final class Exchange {
  let url: RequestURL
  let method: HTTPMethod
  let headers: HeaderFields
  let body: BodySource
  private(set) var answer = AnswerBuffer()
  private(set) var deadlines: Deadlines
  /// The pre-request hook let the one request pass (D18).
  private(set) var hasBegun = false
  /// libcurl wanted to send it a second time.
  private(set) var resendWasRefused = false
  private(set) var connectionWasReused = false
  /// Body bytes that have left the send queue.
  private(set) var bytesSent: Int64 = 0
  /// The last byte of the request has left the send queue, as far as can be known.
  private(set) var hasLeft = false
  /// When the send queue is looked at next.
  private(set) var nextLook: Int64
  private var gzipEnd: GzipEnd?
  private(set) var pace: Pace
  /// None where HTTP/2 is not spoken.
  private var brake: WindowBrake?

  private let easy: UnsafeMutableRawPointer
  private let sockets: SocketTable
  private var socket: Int32?
  private var inherited: Int32?
  private var isAbandoned = false
  private var isClosed = false
  private var unsent: Int64 = .max
  private var lookEvery = Exchange.shortestLook

  private static let shortestLook: Int64 = 50
  private static let longestLook: Int64 = 250
  private static let rescuedBytes = 64 << 10
  /// Bytes of a body that are handed over in one piece.
  private static let shortRequest: Int64 = 64 << 10

  init(
    url: RequestURL, method: HTTPMethod, headers: HeaderFields, body: BodySource, timeouts: Timeouts,
    pace: Pace, easy: UnsafeMutableRawPointer, sockets: SocketTable, http2: Bool, now: Int64
  ) {
    self.url = url
    self.method = method
    self.headers = headers
    self.body = body
    self.pace = pace
    self.easy = easy
    self.sockets = sockets
    brake = http2 ? WindowBrake() : nil
    deadlines = Deadlines(timeouts, now: now)
    nextLook = now
  }

  deinit {
    if let inherited { close(inherited) }
  }

  /// Body bytes that libcurl has written to the socket or to TLS.
  private var handedOver: Int64 {
    Int64(ccurl_get_offset(easy, CURLINFO_SIZE_UPLOAD_T))
  }

  /// Bytes of the answer so far: heads, and the body as it came.
  var bytesReceived: Int64 {
    answer.headBytes + Int64(ccurl_get_offset(easy, CURLINFO_SIZE_DOWNLOAD_T))
  }

  /// From the end of the request to the head of the final answer, ms; nil without one.
  var answeredAfterMs: Int64? {
    // What was held back left bit by bit, however short it is.
    deadlines.answeredAfter(shortRequest: body.length <= Exchange.shortRequest && !pace.wasHeldBack)
  }

  /// When this exchange has to be looked at again.
  var wakeAt: Int64 {
    let next = hasBegun && !hasLeft ? min(nextLook, deadlines.due.at) : deadlines.due.at
    return min(next, brake?.restsUntil ?? .max)
  }

  // MARK: Called by libcurl's hooks

  /// True lets the request onto the wire, once.
  func begin(localPort: Int32, peerPort: Int32) -> Bool {
    guard !hasBegun else {
      resendWasRefused = true
      return false
    }
    hasBegun = true
    connectionWasReused = ccurl_get_long(easy, CURLINFO_NUM_CONNECTS) == 0
    socket = sockets.attach(self, localPort: localPort, peerPort: peerPort)
    let now = MonotonicTime.now
    deadlines.begin(at: now)
    nextLook = now + lookEvery
    return true
  }

  enum Reading {
    case bytes(Int)
    /// A limit of bandwidth holds the body back.
    case pause
    case failure
  }

  func read(into room: UnsafeMutableRawBufferPointer) -> Reading {
    guard let most = pace.room(for: room.count, left: body.length - body.position) else { return .pause }
    guard let got = body.read(into: UnsafeMutableRawBufferPointer(rebasing: room[..<most])) else {
      return .failure
    }
    pace.used(got)
    return .bytes(got)
  }

  func takeHeadLine(_ line: UnsafeRawBufferPointer) -> Bool {
    let now = MonotonicTime.now
    deadlines.move(at: now)
    let goesOn = answer.takeHeadLine(line)
    if answer.finalStatus != nil { deadlines.beginAnswer(at: now) }
    if answer.hasFinalHead {
      look(at: now)
      deadlines.endHead(at: now)
      if gzipEnd == nil { watchGzip() }
    }
    return goesOn
  }

  func takeBody(_ bytes: UnsafeRawBufferPointer) -> Bool {
    deadlines.move(at: MonotonicTime.now)
    return answer.takeBody(bytes)
  }

  /// Takes bytes of the answer's body as they came.
  func takeRaw(_ bytes: UnsafeRawBufferPointer) {
    gzipEnd?.take(bytes)
  }

  /// False when the answer's gzip stream stopped early, which libcurl lets pass.
  var isUnpackedToItsEnd: Bool {
    gzipEnd?.isReached(unpacked: answer.decodedBytes) ?? true
  }

  private func watchGzip() {
    let coding = answer.header("content-encoding")?.lowercased()
    guard coding == "gzip" || coding == "x-gzip" else { return }
    let framing = answer.header("transfer-encoding")?.lowercased()
    let codings = framing?.split { $0 == "," || $0 == " " || $0 == "\t" } ?? []
    gzipEnd = GzipEnd(isChunked: codings.contains("chunked"))
    // From now on libcurl shows the bytes as they come.
    ccurl_set_long(easy, CURLOPT_VERBOSE, 1)
  }

  // MARK: The pace

  /// The body goes on with so many bytes.
  func goOn(with bytes: Int64) {
    pace.grant(bytes)
    // Without a change libcurl looks at nothing.
    curl_easy_pause(easy, CURLPAUSE_SEND_CONT | CURLPAUSE_RECV_CONT)
  }

  func forfeitPace() { pace.forfeit() }

  // MARK: The peer's window

  /// The body rests from now on if the peer's window is shut. Asked after each turn of libcurl.
  func restAtShutWindow(at now: Int64) {
    guard brake != nil, hasBegun, !pace.isHeldBack else { return }
    let handed = handedOver
    guard handed < body.length else { return }
    let rests = brake?.mustRest(moved: handed, at: now, canWrite: { isReady(for: POLLOUT) ?? true })
    if rests == true { curl_easy_pause(easy, CURLPAUSE_SEND) }
  }

  /// The body goes on if the peer has said something, or has rested for long.
  func endRest(at now: Int64) {
    guard let until = brake?.restsUntil, until <= now || isReady(for: POLLIN) == true else { return }
    brake?.endRest()
    curl_easy_pause(easy, CURLPAUSE_CONT)
  }

  /// nil when the socket is not known.
  private func isReady(for event: Int32) -> Bool? {
    guard let socket else { return nil }
    var state = pollfd(fd: socket, events: Int16(event), revents: 0)
    return poll(&state, 1, 0) > 0
  }

  // MARK: The send queue

  /// Sees how much of the request has left the send queue.
  func look(at now: Int64) {
    // Whom we hold back does not stall.
    if pace.isHeldBack { deadlines.move(at: now) }
    guard hasBegun, !hasLeft, !isClosed || inherited != nil else { return }
    let handed = handedOver
    let queued = queuedBytes
    let left = max(bytesSent, min(body.length, handed - queued))
    let rest = body.length - handed + queued
    if rest < unsent {
      lookEvery = Exchange.shortestLook
      // The first look only says where the queue stands.
      if unsent != .max { deadlines.move(at: now) }
    } else {
      // The end is to be seen when it comes: the server's time counts from there.
      lookEvery = handed == body.length ? Exchange.shortestLook : min(lookEvery * 2, Exchange.longestLook)
    }
    unsent = rest
    bytesSent = left
    nextLook = now + lookEvery
    if rest <= 0 {
      hasLeft = true
      deadlines.leave(at: now)
    }
  }

  /// All is handed over and the answer is a success, but the send queue was not seen empty yet (D12).
  var mustDrain: Bool {
    guard let status = answer.finalStatus, answer.hasFinalHead, !isAbandoned else { return false }
    return (200...299).contains(status) && !hasLeft && handedOver == body.length
  }

  /// The peer has ended or reset the connection, so that nothing more will leave.
  var isDisconnected: Bool {
    guard let descriptor = inherited ?? socket else { return true }
    var state = pollfd(fd: descriptor, events: 0, revents: 0)
    return poll(&state, 1, 0) != 0
  }

  /// libcurl closes the socket. True keeps it open for this exchange, which still has to see its last bytes
  /// leave.
  func lose(_ descriptor: Int32) -> Bool {
    look(at: MonotonicTime.now)
    if !hasLeft && !isAbandoned { rescueAnswer(from: descriptor) }
    socket = nil
    isClosed = true
    guard mustDrain else { return false }
    inherited = descriptor
    return true
  }

  /// A server that refuses a request may answer and reset before it has read it. If libcurl meets the reset
  /// while it writes, it gives up without a look at what it could still read (A-EARLY-01). Over TLS nothing
  /// can be done.
  private func rescueAnswer(from descriptor: Int32) {
    guard answer.headBytes == 0, url.origin.text.hasPrefix("http:") else { return }
    let bytes = [UInt8](unsafeUninitializedCapacity: Exchange.rescuedBytes) { buffer, count in
      count = max(0, recv(descriptor, buffer.baseAddress, buffer.count, Int32(MSG_DONTWAIT)))
    }
    answer.takeRest(bytes)
  }

  /// The exchange is stopped: nothing of it matters any more.
  func abandon() {
    isAbandoned = true
    if let socket { sockets.dropUnsent(socket) }
  }

  /// The transfer is over; its connection belongs to others.
  func detach() {
    if let socket { sockets.detach(self, from: socket) }
    socket = nil
    isClosed = true
    if let inherited { close(inherited) }
    inherited = nil
  }

  private var queuedBytes: Int64 {
    if let inherited { return max(0, Int64(clinux_unacknowledged(inherited))) }
    guard let socket else { return 0 }
    return max(0, sockets.unacknowledged(socket) ?? 0)
  }
}
