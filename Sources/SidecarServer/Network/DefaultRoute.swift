import CLinux

/// A route for all that no other route takes, as the kernel tells of it.
struct DefaultRoute: Hashable, Sendable {
  /// AF_INET or AF_INET6.
  var family: UInt8
  var table: UInt32
  /// The lowest goes first.
  var metric: UInt32
  /// The number of the network device.
  var device: UInt32
  /// An address of the family; empty where the device is enough.
  var gateway: [UInt8]

  /// The one that counts for the kind of the network (D34): of the main table before others, which take what
  /// some rule sends there, and then the one with the lowest metric.
  static func first(of routes: some Sequence<DefaultRoute>) -> DefaultRoute? {
    routes.min { $0.order < $1.order }
  }

  private var order: (UInt8, UInt32, UInt8, UInt32) {
    (table == UInt32(RT_TABLE_MAIN.rawValue) ? 0 : 1, metric, family, device)
  }
}
