import CLinux
import Glibc

/// A small HTTP/1.1 server on loopback that counts and hashes what it gets, and does to each path what a
/// stage wants. Works while its watch waits.
final class Receiver {
  /// What is done to the next request of a path; the last step stays.
  enum Step {
    /// Takes the whole body and answers with this status.
    case answer(Int)
    /// Resets the connection after so many bytes of the body.
    case cut(after: Int)
    /// Reads no further after so many bytes of the body, and never answers.
    case hold(after: Int)
  }

  /// No larger body is taken.
  static let maxBody = 16 << 20

  let port: UInt16
  private let watch: Watch
  private let listener: Int32
  private var connections: [Int32: ReceiverConnection] = [:]
  private var steps: [String: [Step]] = [:]
  private var requests: [Received] = []
  /// Statuses of what came and was no request that is served.
  private(set) var refusals: [Int] = []

  init(on watch: Watch) throws(Setback) {
    self.watch = watch
    listener = socket(AF_INET, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_addr.s_addr = in_addr_t(INADDR_LOOPBACK).bigEndian
    var size = socklen_t(MemoryLayout<sockaddr_in>.size)
    let listener = listener
    let isListening = withUnsafeMutablePointer(to: &address) { pointer in
      pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        bind(listener, $0, size) == 0 && listen(listener, 16) == 0 && getsockname(listener, $0, &size) == 0
      }
    }
    guard isListening else {
      let reason = String(cString: strerror(errno))
      close(listener)
      throw .unmet("cannot listen on 127.0.0.1: \(reason)")
    }
    port = UInt16(bigEndian: address.sin_port)
    watch.add(listener, POLLIN) { [unowned self] _ in admit() }
  }

  deinit {
    watch.remove(listener)
    close(listener)
  }

  /// Sets what is done to the requests of a path, in order; gives its URL.
  func serve(_ path: String, _ steps: [Step]) -> String {
    self.steps[path] = steps
    return "http://127.0.0.1:\(port)\(path)"
  }

  /// The requests of a path so far, in order of their heads.
  func requests(_ path: String) -> [Received] {
    requests.filter { $0.head.path == path }
  }

  /// Ends every connection and forgets every path and request.
  func reset() {
    connections = [:]
    steps = [:]
    requests = []
    refusals = []
  }

  private func admit() {
    let descriptor = accept(listener, nil, nil)
    guard descriptor >= 0 else { return }
    _ = fcntl(descriptor, F_SETFD, FD_CLOEXEC)
    connections[descriptor] = ReceiverConnection(descriptor, of: self, on: watch)
  }

  /// Notes a request; nil when nothing is served on its path.
  func begin(_ head: RequestHead) -> (Received, Step)? {
    guard let step = steps[head.path]?.first else { return nil }
    if (steps[head.path]?.count ?? 0) > 1 { steps[head.path]?.removeFirst() }
    let request = Received(head)
    requests.append(request)
    return (request, step)
  }

  func refused(_ status: Int) {
    refusals.append(status)
  }

  func drop(_ descriptor: Int32) {
    connections[descriptor] = nil
  }
}
