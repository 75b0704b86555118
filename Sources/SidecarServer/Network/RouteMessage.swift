import CLinux
import Glibc

/// What the kernel says in one message of rtnetlink(7), as far as it matters to the default route.
enum RouteMessage: Equatable {
  /// nil: one was taken away, or leads nowhere at present.
  case defaultRoute(DefaultRoute?)
  /// Something about a device.
  case link
  /// The end of an answer. `isTorn`: routes changed while it was written, so it may lack some.
  case end(isTorn: Bool)
  /// An error number instead of an answer.
  case failure(Int32)

  /// The messages of one datagram; those of no interest, and what a cut one may hold, are left out.
  static func read(_ datagram: UnsafeRawBufferPointer) -> [RouteMessage] {
    var messages: [RouteMessage] = []
    var isTorn = false
    var rest = datagram
    while let header = rest.value(at: 0, as: nlmsghdr.self) {
      let length = Int(header.nlmsg_len)
      guard length >= headerLength, length <= rest.count else { break }
      let content = UnsafeRawBufferPointer(rebasing: rest[headerLength..<length])
      if Int32(header.nlmsg_flags) & NLM_F_DUMP_INTR != 0 { isTorn = true }
      switch Int32(header.nlmsg_type) {
      case NLMSG_DONE: messages.append(.end(isTorn: isTorn))
      case NLMSG_ERROR: messages.append(.failure(-(content.value(at: 0, as: Int32.self) ?? -EBADMSG)))
      case Int32(RTM_NEWLINK), Int32(RTM_DELLINK): messages.append(.link)
      case Int32(RTM_NEWROUTE):
        if isDefault(content) { messages.append(.defaultRoute(route(content))) }
      case Int32(RTM_DELROUTE):
        if isDefault(content) { messages.append(.defaultRoute(nil)) }
      default: break
      }
      rest = UnsafeRawBufferPointer(rebasing: rest.dropFirst(aligned(length)))
    }
    return messages
  }

  private static let headerLength = 16

  private static func aligned(_ length: Int) -> Int { (length + 3) & ~3 }

  private static func isDefault(_ content: UnsafeRawBufferPointer) -> Bool {
    guard let route = content.value(at: 0, as: rtmsg.self) else { return false }
    return route.rtm_dst_len == 0 && [AF_INET, AF_INET6].contains(Int32(route.rtm_family))
  }

  private static func route(_ content: UnsafeRawBufferPointer) -> DefaultRoute? {
    guard let head = content.value(at: 0, as: rtmsg.self), head.rtm_type == UInt8(RTN_UNICAST),
      !isDown(head.rtm_flags)
    else { return nil }
    var route = DefaultRoute(
      family: head.rtm_family, table: UInt32(head.rtm_table), metric: 0, device: 0, gateway: [])
    for (kind, value) in attributes(content, after: MemoryLayout<rtmsg>.size) {
      switch kind {
      case UInt16(RTA_TABLE.rawValue): route.table = value.value(at: 0, as: UInt32.self) ?? route.table
      case UInt16(RTA_PRIORITY.rawValue): route.metric = value.value(at: 0, as: UInt32.self) ?? 0
      case UInt16(RTA_OIF.rawValue): route.device = value.value(at: 0, as: UInt32.self) ?? 0
      case UInt16(RTA_GATEWAY.rawValue), UInt16(RTA_VIA.rawValue): route.gateway = Array(value)
      case UInt16(RTA_MULTIPATH.rawValue): takeFirstHop(of: value, into: &route)
      default: break
      }
    }
    return route.device == 0 ? nil : route
  }

  /// Of a route over several devices the first that works counts.
  private static func takeFirstHop(of hops: UnsafeRawBufferPointer, into route: inout DefaultRoute) {
    var rest = hops
    while let hop = rest.value(at: 0, as: rtnexthop.self) {
      let size = MemoryLayout<rtnexthop>.size
      let length = Int(hop.rtnh_len)
      guard length >= size, length <= rest.count else { return }
      if !isDown(UInt32(hop.rtnh_flags)) {
        route.device = UInt32(bitPattern: hop.rtnh_ifindex)
        let content = UnsafeRawBufferPointer(rebasing: rest[..<length])
        for (kind, value) in attributes(content, after: size) where kind == UInt16(RTA_GATEWAY.rawValue) {
          route.gateway = Array(value)
        }
        return
      }
      rest = UnsafeRawBufferPointer(rebasing: rest.dropFirst(aligned(length)))
    }
  }

  private static func isDown(_ flags: UInt32) -> Bool {
    flags & UInt32(RTNH_F_DEAD | RTNH_F_LINKDOWN) != 0
  }

  /// Numbers and values of the attributes that begin at `start`.
  private static func attributes(
    _ content: UnsafeRawBufferPointer, after start: Int
  ) -> [(kind: UInt16, value: UnsafeRawBufferPointer)] {
    var found: [(kind: UInt16, value: UnsafeRawBufferPointer)] = []
    var rest = UnsafeRawBufferPointer(rebasing: content.dropFirst(aligned(start)))
    while let head = rest.value(at: 0, as: rtattr.self) {
      let size = MemoryLayout<rtattr>.size
      let length = Int(head.rta_len)
      guard length >= size, length <= rest.count else { break }
      found.append((head.rta_type, UnsafeRawBufferPointer(rebasing: rest[size..<length])))
      rest = UnsafeRawBufferPointer(rebasing: rest.dropFirst(aligned(length)))
    }
    return found
  }
}

extension UnsafeRawBufferPointer {
  /// The bytes at `offset` as a value of C; nil where there are too few.
  fileprivate func value<Value: BitwiseCopyable>(at offset: Int, as type: Value.Type) -> Value? {
    guard offset + MemoryLayout<Value>.size <= count else { return nil }
    return loadUnaligned(fromByteOffset: offset, as: type)
  }
}
