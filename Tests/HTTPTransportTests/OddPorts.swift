import Glibc

/// Loopback ports of our own that serve nobody, so that no other server can get their number.
final class OddPort {
  enum Kind {
    /// Nobody listens: a connection is refused.
    case closed
    /// The queue of the listener is full: a connection neither comes about nor is refused.
    case full
  }

  let number: UInt16
  private var descriptors: [Int32]

  init(_ kind: Kind) {
    let holder = socket(AF_INET, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
    descriptors = [holder]
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_addr.s_addr = inet_addr("127.0.0.1")
    var length = socklen_t(MemoryLayout<sockaddr_in>.size)
    withUnsafeMutablePointer(to: &address) { pointer in
      pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        _ = bind(holder, $0, length)
        if kind == .full { listen(holder, 0) }
        getsockname(holder, $0, &length)
      }
    }
    number = UInt16(bigEndian: address.sin_port)
    guard kind == .full else { return }
    for _ in 0..<2 {
      let flags = SOCK_STREAM.rawValue | SOCK_NONBLOCK.rawValue | SOCK_CLOEXEC.rawValue
      let client = socket(AF_INET, Int32(flags), 0)
      withUnsafePointer(to: &address) { pointer in
        pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { _ = connect(client, $0, length) }
      }
      descriptors.append(client)
    }
  }

  deinit {
    for descriptor in descriptors { close(descriptor) }
  }
}
