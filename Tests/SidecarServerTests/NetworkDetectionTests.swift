import CLinux
import Foundation
import QueueModel
import Testing

@testable import SidecarServer

@Suite struct NetworkDetectionTests {
  private func route(
    _ device: UInt32, metric: UInt32 = 0, family: Int32 = AF_INET, table: UInt32 = 254, gateway: UInt8 = 1
  ) -> DefaultRoute {
    DefaultRoute(
      family: UInt8(family), table: table, metric: metric, device: device, gateway: [10, 0, 0, gateway])
  }

  /// 1 is wireless, 2 mobile, all else neither.
  private func kind(_ device: UInt32) -> Network.Kind {
    switch device {
    case 1: .wifi
    case 2: .cellular
    default: .ethernet
    }
  }

  private func detected(_ routes: [DefaultRoute]) -> Network {
    NetworkDetection(routes, kind: kind).network
  }

  @Test("D34: the device of the default route decides; no route is none; unknown metering is not metered")
  func device() {
    #expect(detected([]) == Network(kind: .none))
    #expect(detected([route(1)]) == Network(kind: .wifi))
    #expect(detected([route(2)]) == Network(kind: .cellular))
    #expect(detected([route(3)]) == Network(kind: .ethernet))
  }

  @Test("D34: the lowest metric goes first, over both families; then IPv4; other tables come last")
  func order() {
    #expect(detected([route(1, metric: 600), route(3, metric: 100)]).kind == .ethernet)
    #expect(detected([route(3, metric: 600), route(1, metric: 100, family: AF_INET6)]).kind == .wifi)
    #expect(detected([route(2, metric: 9, family: AF_INET6), route(1, metric: 9)]).kind == .wifi)
    #expect(detected([route(3, table: 51820), route(2, metric: 700)]).kind == .cellular)
    #expect(detected([route(3, table: 51820)]).kind == .ethernet)
  }

  @Test("D16: a default route that was not there before is a change of route; one that went is none")
  func newRoutes() {
    var detection = NetworkDetection([route(3)], kind: kind)
    func look(_ routes: DefaultRoute...) -> NetworkDetection.Change? {
      detection.look(routes, kind: kind)
    }
    #expect(look(route(3)) == nil)
    #expect(look() == .init(network: Network(kind: .none), isNewRoute: false))
    #expect(look() == nil)
    #expect(look(route(3)) == .init(network: Network(), isNewRoute: true))
    // The same kind by another way.
    #expect(look(route(3, gateway: 2)) == .init(network: Network(), isNewRoute: true))
    // A second way, of the other family.
    #expect(
      look(route(3, gateway: 2), route(1, metric: 9, family: AF_INET6))
        == .init(network: Network(), isNewRoute: true))
    #expect(
      look(route(1, metric: 9, family: AF_INET6)) == .init(network: Network(kind: .wifi), isNewRoute: false))
  }

  @Test(
    "D34: what sysfs says of a device",
    arguments: [
      ("wlan0", ["wireless/x": ""], Network.Kind.wifi), ("wlp3s0", ["phy80211/x": ""], .wifi),
      ("usb0", ["uevent": "INTERFACE=usb0\nDEVTYPE=wwan\n"], .cellular),
      ("dsl", ["type": "512\n"], .cellular), ("wwan0", [:], .cellular), ("wwp0s20u4", [:], .cellular),
      ("rmnet_data0", [:], .cellular), ("ppp0", [:], .cellular),
      ("eth0", ["uevent": "INTERFACE=eth0\n", "type": "1\n"], .ethernet),
      ("tun0", ["type": "65534\n"], .ethernet),
      ("br0", ["uevent": "DEVTYPE=bridge\n"], .ethernet), ("gone", [:], .ethernet),
    ])
  func sysfs(name: String, files: [String: String], expected: Network.Kind) throws {
    let folder = NSTemporaryDirectory() + "outtray-devices-" + UUID().uuidString
    defer { try? FileManager.default.removeItem(atPath: folder) }
    for (path, text) in files {
      let file = URL(fileURLWithPath: "\(folder)/\(name)/\(path)")
      try FileManager.default.createDirectory(
        at: file.deletingLastPathComponent(), withIntermediateDirectories: true)
      try Data(text.utf8).write(to: file)
    }
    #expect(NetworkDevice.kind(named: name, in: folder) == expected)
  }

  @Test("D34: a device whose number nobody has counts as ethernet")
  func unknownNumber() {
    #expect(NetworkDevice.kind(number: 4_000_000_000) == .ethernet)
  }
}
