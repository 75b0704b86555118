import Foundation
import Glibc
import Synchronization

/// The server's side of one connection, used by the script's thread.
final class Peer: Sendable {
  struct Ended: Error {}

  /// From 0, in the order of the connections.
  let ordinal: Int
  /// Signalled when the script is over, or has seen the client's end in `readToEnd`.
  let ended = DispatchSemaphore(value: 0)
  private let state: Mutex<State>

  private struct State {
    var descriptor: Int32
    var unread: [UInt8] = []
    var requests: [Request] = []
    var bytesRead = 0
  }

  init(_ descriptor: Int32, ordinal: Int) {
    self.ordinal = ordinal
    state = Mutex(State(descriptor: descriptor))
    var limit = timeval(tv_sec: 30, tv_usec: 0)
    setsockopt(descriptor, SOL_SOCKET, SO_RCVTIMEO, &limit, socklen_t(MemoryLayout<timeval>.size))
    var yes: Int32 = 1
    setsockopt(descriptor, Int32(IPPROTO_TCP), TCP_NODELAY, &yes, socklen_t(MemoryLayout<Int32>.size))
  }

  var requests: [Request] { state.withLock { $0.requests } }
  /// Bytes taken from the socket so far.
  var bytesRead: Int { state.withLock { $0.bytesRead } }

  /// Reads one head, up to and with its blank line.
  @discardableResult
  func readHead() throws -> Request {
    var head: [UInt8] = []
    while !head.suffix(4).elementsEqual([13, 10, 13, 10]) { head.append(try readByte()) }
    var lines = String(decoding: head, as: UTF8.self).components(separatedBy: "\r\n").dropLast(2)
    let first = lines.removeFirst()
    let headers = lines.map { line in
      let colon = line.firstIndex(of: ":") ?? line.endIndex
      return (
        name: String(line[..<colon]), value: line[colon...].dropFirst().trimmingCharacters(in: .whitespaces)
      )
    }
    let request = Request(line: first, headers: headers)
    state.withLock { $0.requests.append(request) }
    return request
  }

  /// Reads one request with a body of the announced length.
  @discardableResult
  func readRequest() throws -> Request {
    var request = try readHead()
    request.body = try readBody(request.contentLength ?? 0)
    return request
  }

  /// Reads exactly `count` bytes and adds them to the last request.
  @discardableResult
  func readBody(_ count: Int) throws -> [UInt8] {
    var bytes: [UInt8] = []
    while bytes.count < count { bytes += try read(atMost: min(count - bytes.count, 1 << 20)) }
    state.withLock { $0.requests[$0.requests.count - 1].body += bytes }
    return bytes
  }

  /// Reads and forgets `count` bytes, without a copy.
  func discard(_ count: Int) throws {
    let (descriptor, ready) = state.withLock { state in
      let ready = min(count, state.unread.count)
      state.unread.removeFirst(ready)
      return (state.descriptor, ready)
    }
    var left = count - ready
    while left > 0 {
      let got = recv(descriptor, nil, min(left, 1 << 30), Int32(MSG_TRUNC))
      guard got > 0 else { throw Ended() }
      state.withLock { $0.bytesRead += got }
      left -= got
    }
  }

  /// Reads and forgets until the client has closed; gives the number of bytes.
  @discardableResult
  func readToEnd() -> Int {
    var count = 0
    while let bytes = try? read(atMost: 1 << 20) { count += bytes.count }
    return count
  }

  func send(_ text: String) throws {
    try send(Array(text.utf8))
  }

  func send(_ bytes: [UInt8]) throws {
    let descriptor = state.withLock { $0.descriptor }
    var sent = 0
    while sent < bytes.count {
      let count = bytes.withUnsafeBytes {
        Glibc.send(descriptor, $0.baseAddress! + sent, bytes.count - sent, Int32(MSG_NOSIGNAL))
      }
      guard count > 0 else { throw Ended() }
      sent += count
    }
  }

  /// A whole answer with a Content-Length.
  func answer(_ status: String, _ headers: [String] = [], body: String = "") throws {
    var head = "HTTP/1.1 \(status)\r\nContent-Length: \(body.utf8.count)\r\n"
    for header in headers { head += header + "\r\n" }
    try send(head + "\r\n" + body)
  }

  /// Closes; with unread bytes the kernel resets.
  func end() {
    let descriptor = take()
    if descriptor >= 0 { close(descriptor) }
    ended.signal()
  }

  /// Sends the end of the connection and waits until the client's kernel has taken it.
  func closeGently() {
    let descriptor = state.withLock { $0.descriptor }
    shutdown(descriptor, Int32(SHUT_WR))
    while Peer.connectionState(descriptor) == Peer.finWait1 { sched_yield() }
  }

  private static let finWait1: UInt8 = 4

  /// The first member of `struct tcp_info`.
  private static func connectionState(_ descriptor: Int32) -> UInt8 {
    var information = [UInt8](repeating: 0, count: 256)
    var length = socklen_t(information.count)
    getsockopt(descriptor, Int32(IPPROTO_TCP), TCP_INFO, &information, &length)
    return information[0]
  }

  /// Closes with a reset.
  func reset() {
    let descriptor = take()
    guard descriptor >= 0 else { return }
    var linger = linger(l_onoff: 1, l_linger: 0)
    setsockopt(descriptor, SOL_SOCKET, SO_LINGER, &linger, socklen_t(MemoryLayout<linger>.size))
    close(descriptor)
  }

  /// Ends whatever the script's thread is waiting for.
  func interrupt() {
    state.withLock { state in
      if state.descriptor >= 0 { shutdown(state.descriptor, Int32(SHUT_RDWR)) }
    }
  }

  private func take() -> Int32 {
    state.withLock { state in
      let descriptor = state.descriptor
      state.descriptor = -1
      return descriptor
    }
  }

  private func readByte() throws -> UInt8 {
    try read(atMost: 1)[0]
  }

  private func read(atMost count: Int) throws -> [UInt8] {
    let (descriptor, ready) = state.withLock { state in
      let ready = Array(state.unread.prefix(count))
      state.unread.removeFirst(ready.count)
      return (state.descriptor, ready)
    }
    if !ready.isEmpty { return ready }
    let chunk = count == 1 ? 4096 : count
    let bytes = [UInt8](unsafeUninitializedCapacity: chunk) { buffer, length in
      length = max(0, recv(descriptor, buffer.baseAddress, chunk, 0))
    }
    guard !bytes.isEmpty else { throw Ended() }
    return state.withLock { state in
      state.bytesRead += bytes.count
      state.unread += bytes.dropFirst(count)
      return Array(bytes.prefix(count))
    }
  }
}
