import Glibc
import QueueModel

/// What a network device is, by what sysfs says of it (D34).
enum NetworkDevice {
  /// A device whose number is not known any more counts as ethernet, as does whatever is neither wireless nor
  /// mobile: tunnels and bridges as well.
  static func kind(number: UInt32) -> Network.Kind {
    var name = [CChar](repeating: 0, count: Int(IF_NAMESIZE))
    guard if_indextoname(number, &name) != nil else { return .ethernet }
    return kind(named: String(decoding: name.prefix { $0 != 0 }.map(UInt8.init(bitPattern:)), as: UTF8.self))
  }

  /// - Parameter folder: where sysfs keeps network devices.
  static func kind(named name: String, in folder: String = "/sys/class/net") -> Network.Kind {
    let device = "\(folder)/\(name)"
    if ["wireless", "phy80211"].contains(where: { access("\(device)/\($0)", F_OK) == 0 }) { return .wifi }
    let isMobile =
      mobilePrefixes.contains { name.hasPrefix($0) }
      || lines(of: "\(device)/uevent").contains("DEVTYPE=wwan")
      || lines(of: "\(device)/type").contains(pointToPoint)
    return isMobile ? .cellular : .ethernet
  }

  /// Names that the kernel, udev and Android's modems give: wwan0, wwp0s20u4, rmnet_data0, ppp0.
  private static let mobilePrefixes = ["ww", "rmnet", "ppp"]
  /// ARPHRD_PPP.
  private static let pointToPoint: Substring = "512"

  private static func lines(of path: String) -> [Substring] {
    let file = open(path, O_RDONLY | O_CLOEXEC)
    guard file >= 0 else { return [] }
    defer { close(file) }
    var bytes = [UInt8](repeating: 0, count: 4096)
    let count = read(file, &bytes, bytes.count)
    return String(decoding: bytes.prefix(max(0, count)), as: UTF8.self).split(separator: "\n")
  }
}
