import CLinux
import Glibc
import Testing

@testable import SidecarServer

/// Bytes of the kernel in, routes out.
@Suite struct RouteMessageTests {
  // MARK: Bytes as the kernel writes them

  private func bytes<Value: BitwiseCopyable>(of value: Value) -> [UInt8] {
    withUnsafeBytes(of: value) { Array($0) }
  }

  private func padded(_ bytes: [UInt8]) -> [UInt8] {
    bytes + [UInt8](repeating: 0, count: (4 - bytes.count % 4) % 4)
  }

  private func attribute(_ kind: rtattr_type_t, _ value: [UInt8]) -> [UInt8] {
    padded(bytes(of: UInt16(value.count + 4)) + bytes(of: UInt16(kind.rawValue)) + value)
  }

  private func attribute(_ kind: rtattr_type_t, _ value: UInt32) -> [UInt8] {
    attribute(kind, bytes(of: value))
  }

  private func message(_ type: Int, flags: UInt16 = 0, _ content: [UInt8]) -> [UInt8] {
    let header = nlmsghdr(
      nlmsg_len: UInt32(16 + content.count), nlmsg_type: UInt16(type), nlmsg_flags: flags, nlmsg_seq: 0,
      nlmsg_pid: 0)
    return padded(bytes(of: header) + content)
  }

  private func route(
    as type: Int = RTM_NEWROUTE, family: Int32 = AF_INET, prefix: UInt8 = 0, table: UInt8 = 254,
    kind: Int = RTN_UNICAST, down: Bool = false, flags: UInt16 = 0, _ attributes: [[UInt8]]
  ) -> [UInt8] {
    var head = rtmsg()
    head.rtm_family = UInt8(family)
    head.rtm_dst_len = prefix
    head.rtm_table = table
    head.rtm_type = UInt8(kind)
    head.rtm_flags = down ? UInt32(RTNH_F_LINKDOWN) : 0
    return message(type, flags: flags, bytes(of: head) + attributes.flatMap(\.self))
  }

  private func read(_ bytes: [UInt8]) -> [RouteMessage] { bytes.withUnsafeBytes { RouteMessage.read($0) } }

  private let done = 3

  // MARK: What they say

  @Test("D34: default routes of both families, with table, metric, device and gateway")
  func defaultRoutes() {
    let four = route([
      attribute(RTA_TABLE, 254), attribute(RTA_PRIORITY, 600), attribute(RTA_GATEWAY, [192, 0, 2, 1]),
      attribute(RTA_OIF, 3),
    ])
    let gateway = [UInt8](repeating: 0xFE, count: 16)
    let six = route(
      family: AF_INET6, table: 252,
      [
        attribute(RTA_TABLE, 51820), attribute(RTA_PRIORITY, 1024), attribute(RTA_OIF, 4),
        attribute(RTA_GATEWAY, gateway),
      ])
    #expect(
      read(four + six + message(done, bytes(of: Int32(0)))) == [
        .defaultRoute(
          DefaultRoute(
            family: UInt8(AF_INET), table: 254, metric: 600, device: 3, gateway: [192, 0, 2, 1])),
        .defaultRoute(
          DefaultRoute(
            family: UInt8(AF_INET6), table: 51820, metric: 1024, device: 4, gateway: gateway)),
        .end(isTorn: false),
      ])
  }

  @Test("D34: a route to a part of the network, and one of another family, say nothing")
  func others() {
    #expect(read(route(prefix: 24, [attribute(RTA_OIF, 3)])).isEmpty)
    #expect(read(route(family: 28, [attribute(RTA_OIF, 3)])).isEmpty)
    #expect(read(message(28, bytes(of: ndmsg()))).isEmpty)
  }

  @Test("D34: one that is gone, leads nowhere, or whose device is down counts as none")
  func nowhere() {
    let none = [RouteMessage.defaultRoute(nil)]
    #expect(read(route(as: RTM_DELROUTE, [attribute(RTA_OIF, 3)])) == none)
    #expect(read(route(kind: RTN_UNREACHABLE, [attribute(RTA_OIF, 1)])) == none)
    #expect(read(route(down: true, [attribute(RTA_OIF, 3)])) == none)
    #expect(read(route([])) == none)
  }

  @Test("D34: of a route over several devices the first one that is up counts")
  func multipath() {
    func hop(_ device: Int32, down: Bool) -> [UInt8] {
      let gateway = attribute(RTA_GATEWAY, [10, 0, 0, UInt8(device)])
      return bytes(
        of: rtnexthop(
          rtnh_len: UInt16(8 + gateway.count), rtnh_flags: down ? UInt8(RTNH_F_DEAD) : 0, rtnh_hops: 0,
          rtnh_ifindex: device)) + gateway
    }
    let route = route([
      attribute(RTA_MULTIPATH, hop(7, down: true) + hop(8, down: false) + hop(9, down: false))
    ])
    #expect(
      read(route) == [
        .defaultRoute(
          DefaultRoute(family: UInt8(AF_INET), table: 254, metric: 0, device: 8, gateway: [10, 0, 0, 8]))
      ])
  }

  @Test("D34: changes of links, an error, and an answer during which routes changed are told apart")
  func rest() {
    #expect(read(message(RTM_NEWLINK, bytes(of: ifinfomsg()))) == [.link])
    #expect(read(message(RTM_DELLINK, bytes(of: ifinfomsg()))) == [.link])
    #expect(read(message(2, bytes(of: Int32(-EPERM)))) == [.failure(EPERM)])
    #expect(read(message(2, [])) == [.failure(EBADMSG)])
    let torn = route(flags: UInt16(NLM_F_DUMP_INTR), [attribute(RTA_OIF, 3)])
    #expect(read(torn + message(done, [])).last == .end(isTorn: true))
  }

  @Test("D34: whatever is cut or makes no sense is left out, at every length")
  func cut() {
    let whole = route([attribute(RTA_PRIORITY, 600), attribute(RTA_OIF, 3)]) + message(done, [])
    for length in 0..<whole.count { #expect(read(Array(whole[..<length])).count <= 1) }
    #expect(read([UInt8](repeating: 0, count: 64)).isEmpty)
    #expect(read([UInt8](repeating: 0xFF, count: 64)).isEmpty)
    // An attribute that claims more than there is, and one of no length.
    #expect(read(route([[200, 0, 4, 0, 3, 0, 0, 0]])) == [.defaultRoute(nil)])
    #expect(read(route([[0, 0, 4, 0, 3, 0, 0, 0]])) == [.defaultRoute(nil)])
  }
}
