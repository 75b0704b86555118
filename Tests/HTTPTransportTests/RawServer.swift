import Foundation
import Glibc
import Synchronization

/// A server on loopback whose every byte a test writes: one thread for each connection, which runs the
/// script.
final class RawServer: Sendable {
  typealias Script = @Sendable (Peer) throws -> Void

  let port: UInt16
  private let listener: Int32
  private let state = Mutex(State())

  private struct State {
    var peers: [Peer] = []
    var isStopped = false
  }

  /// `receiveBuffer` limits what the kernel takes that the script has not read.
  init(ipv6: Bool = false, receiveBuffer: Int32? = nil, _ script: @escaping Script) {
    let listener = socket(ipv6 ? AF_INET6 : AF_INET, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
    var yes: Int32 = 1
    setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &yes, socklen_t(MemoryLayout<Int32>.size))
    if var receiveBuffer {
      setsockopt(listener, SOL_SOCKET, SO_RCVBUF, &receiveBuffer, socklen_t(MemoryLayout<Int32>.size))
    }
    let bound = ipv6 ? RawServer.bindLoopback6(listener) : RawServer.bindLoopback4(listener)
    precondition(bound == 0 && listen(listener, 64) == 0, "no loopback socket")
    self.listener = listener
    port = RawServer.port(of: listener)
    Thread { [weak self] in
      while true {
        let connection = accept(listener, nil, nil)
        guard connection >= 0 else { break }
        guard let peer = self?.admit(connection) else {
          close(connection)
          break
        }
        Thread { RawServer.run(script, peer) }.start()
      }
      // Here and not in `stop`: the number must not be another server's while this thread uses it.
      close(listener)
    }.start()
  }

  deinit {
    stop()
  }

  /// Takes no connection any more and ends those there are.
  func stop() {
    let wasStopped = state.withLock { state in
      defer { state.isStopped = true }
      return state.isStopped
    }
    guard !wasStopped else { return }
    shutdown(listener, Int32(SHUT_RDWR))
    for peer in peers { peer.interrupt() }
  }

  /// Connections taken so far, in order.
  var peers: [Peer] { state.withLock { $0.peers } }

  /// Every request whose head was read, over all connections, in order of connection.
  var requests: [Request] { peers.flatMap(\.requests) }

  func url(_ path: String = "/", host: String = "127.0.0.1") -> String { "http://\(host):\(port)\(path)" }

  private func admit(_ connection: Int32) -> Peer? {
    state.withLock { state in
      let peer = Peer(connection, ordinal: state.peers.count)
      state.peers.append(peer)
      return peer
    }
  }

  private static func run(_ script: Script, _ peer: Peer) {
    // A script that runs into the end of its connection is over.
    try? script(peer)
    peer.end()
  }

  private static func bindLoopback4(_ listener: Int32) -> Int32 {
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_addr.s_addr = inet_addr("127.0.0.1")
    return withUnsafePointer(to: &address) { pointer in
      pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        bind(listener, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
      }
    }
  }

  private static func bindLoopback6(_ listener: Int32) -> Int32 {
    var address = sockaddr_in6()
    address.sin6_family = sa_family_t(AF_INET6)
    address.sin6_addr = in6addr_loopback
    return withUnsafePointer(to: &address) { pointer in
      pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        bind(listener, $0, socklen_t(MemoryLayout<sockaddr_in6>.size))
      }
    }
  }

  private static func port(of listener: Int32) -> UInt16 {
    var address = sockaddr_in6()
    var length = socklen_t(MemoryLayout<sockaddr_in6>.size)
    withUnsafeMutablePointer(to: &address) { pointer in
      pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { _ = getsockname(listener, $0, &length) }
    }
    return UInt16(bigEndian: address.sin6_port)
  }
}

/// One request as it came over the wire.
struct Request: Sendable {
  var line: String
  /// In order, names as spelled.
  var headers: [(name: String, value: String)]
  var body: [UInt8] = []

  func values(_ name: String) -> [String] {
    headers.filter { $0.name.lowercased() == name.lowercased() }.map(\.value)
  }

  var contentLength: Int? { values("Content-Length").first.flatMap { Int($0) } }
}
