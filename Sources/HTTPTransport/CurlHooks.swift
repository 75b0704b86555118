import CCurl
import Glibc

/// The functions that libcurl calls, always on the loop's thread. Their user pointer is the exchange, or the
/// table of sockets, both of which outlive the transfer.
enum CurlHooks {
  static let read: ccurl_bytes_hook = { bytes, size, count, user in
    guard let bytes, let exchange = exchange(user) else { return Int(CURL_READFUNC_ABORT) }
    let room = UnsafeMutableRawBufferPointer(start: bytes, count: size * count)
    switch exchange.read(into: room) {
    case .bytes(let count): return count
    case .pause: return Int(CURL_READFUNC_PAUSE)
    case .failure: return Int(CURL_READFUNC_ABORT)
    }
  }

  static let seek: ccurl_seek_hook = { user, offset, origin in
    guard let exchange = exchange(user), origin == SEEK_SET, exchange.body.seek(to: Int64(offset)) else {
      return CURL_SEEKFUNC_FAIL
    }
    return CURL_SEEKFUNC_OK
  }

  static let head: ccurl_bytes_hook = { bytes, size, count, user in
    guard let exchange = exchange(user) else { return 0 }
    return exchange.takeHeadLine(UnsafeRawBufferPointer(start: bytes, count: size * count)) ? size * count : 0
  }

  static let write: ccurl_bytes_hook = { bytes, size, count, user in
    guard let exchange = exchange(user) else { return 0 }
    return exchange.takeBody(UnsafeRawBufferPointer(start: bytes, count: size * count)) ? size * count : 0
  }

  /// Called while `CURLOPT_VERBOSE` is on; set always, so that libcurl never writes to stderr by itself.
  static let debug: ccurl_debug_hook = { _, kind, bytes, size, user in
    if kind == CURLINFO_DATA_IN, let exchange = exchange(user) {
      exchange.takeRaw(UnsafeRawBufferPointer(start: bytes, count: size))
    }
    return 0
  }

  static let prereq: ccurl_prereq_hook = { user, _, _, peerPort, localPort in
    guard let exchange = exchange(user), exchange.begin(localPort: localPort, peerPort: peerPort) else {
      return CURL_PREREQFUNC_ABORT
    }
    return CURL_PREREQFUNC_OK
  }

  static let open: ccurl_open_hook = { user, _, address in
    guard let user, let address else { return -1 }
    let kind = address.pointee.socktype | Int32(SOCK_CLOEXEC.rawValue)
    let descriptor = socket(address.pointee.family, kind, address.pointee.protocol)
    if descriptor >= 0 {
      Unmanaged<SocketTable>.fromOpaque(user).takeUnretainedValue().opened(descriptor)
    }
    return descriptor
  }

  static let close: ccurl_close_hook = { user, descriptor in
    guard let user else { return 1 }
    Unmanaged<SocketTable>.fromOpaque(user).takeUnretainedValue().close(descriptor)
    return 0
  }

  private static func exchange(_ user: UnsafeMutableRawPointer?) -> Exchange? {
    user.map { Unmanaged<Exchange>.fromOpaque($0).takeUnretainedValue() }
  }
}
