import CLinux
import Glibc

/// The sockets that libcurl holds open, by what its open and close hooks tell. libcurl does not say which
/// socket a running transfer uses; the local port tells.
final class SocketTable {
  private struct Ports: Equatable {
    var local: UInt16
    var peer: UInt16
  }

  private struct Socket {
    var ports: Ports?
    var exchanges: [Exchange] = []
  }

  private var sockets: [Int32: Socket] = [:]

  func opened(_ descriptor: Int32) {
    sockets[descriptor] = Socket()
  }

  /// Takes the socket out. An exchange that still has to see its last bytes leave gets it in place of a
  /// close.
  func close(_ descriptor: Int32) {
    let exchanges = sockets[descriptor]?.exchanges ?? []
    var heir: Exchange?
    for exchange in exchanges where exchange.lose(descriptor) { heir = exchange }
    sockets[descriptor] = nil
    if heir == nil { Glibc.close(descriptor) }
  }

  /// Notes that `exchange` uses the connected socket with these ports; nil when there is none such.
  func attach(_ exchange: Exchange, localPort: Int32, peerPort: Int32) -> Int32? {
    let wanted = Ports(
      local: UInt16(truncatingIfNeeded: localPort), peer: UInt16(truncatingIfNeeded: peerPort))
    for descriptor in sockets.keys where ports(of: descriptor) == wanted {
      sockets[descriptor]?.exchanges.append(exchange)
      return descriptor
    }
    return nil
  }

  func detach(_ exchange: Exchange, from descriptor: Int32) {
    sockets[descriptor]?.exchanges.removeAll { $0 === exchange }
  }

  /// Bytes in the send queue of `descriptor`; nil when they cannot be told: it is closed, or other exchanges
  /// have bytes there too (HTTP/2).
  func unacknowledged(_ descriptor: Int32) -> Int64? {
    guard let socket = sockets[descriptor], socket.exchanges.count <= 1 else { return nil }
    return Int64(clinux_unacknowledged(descriptor))
  }

  /// Closing `descriptor` will drop what still waits in its send queue, so that a stopped request moves no
  /// further. Not where other exchanges have bytes there too (HTTP/2).
  func dropUnsent(_ descriptor: Int32) {
    guard let socket = sockets[descriptor], socket.exchanges.count <= 1 else { return }
    var now = linger(l_onoff: 1, l_linger: 0)
    setsockopt(descriptor, SOL_SOCKET, SO_LINGER, &now, socklen_t(MemoryLayout<linger>.size))
  }

  /// Ends the connections that no exchange uses. libcurl finds them dead when it looks for one to use again.
  func shutDownIdle() {
    for (descriptor, socket) in sockets where socket.exchanges.isEmpty {
      shutdown(descriptor, Int32(SHUT_RDWR))
    }
  }

  private func ports(of descriptor: Int32) -> Ports? {
    if let known = sockets[descriptor]?.ports { return known }
    guard let local = port(of: descriptor, by: getsockname), let peer = port(of: descriptor, by: getpeername)
    else { return nil }
    let ports = Ports(local: local, peer: peer)
    sockets[descriptor]?.ports = ports
    return ports
  }

  private typealias NameCall = (Int32, UnsafeMutablePointer<sockaddr>, UnsafeMutablePointer<socklen_t>) ->
    Int32

  /// IPv4 and IPv6 addresses hold their port at the same place.
  private func port(of descriptor: Int32, by call: NameCall) -> UInt16? {
    var address = sockaddr_in6()
    var length = socklen_t(MemoryLayout<sockaddr_in6>.size)
    let result = withUnsafeMutablePointer(to: &address) { pointer in
      pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { call(descriptor, $0, &length) }
    }
    return result == 0 ? UInt16(bigEndian: address.sin6_port) : nil
  }
}
