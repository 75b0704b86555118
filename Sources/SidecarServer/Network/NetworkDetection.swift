import QueueModel

/// What one look at the routes after the other tells of the network (D34).
struct NetworkDetection {
  private var routes: Set<DefaultRoute> = []
  private(set) var network: Network

  struct Change: Equatable {
    var network: Network
    /// There is a default route that was not there before, which ends outages (D16).
    var isNewRoute: Bool
  }

  /// `kind` tells what a network device is.
  init(_ routes: some Sequence<DefaultRoute>, kind: (UInt32) -> Network.Kind) {
    self.routes = Set(routes)
    network = NetworkDetection.network(over: self.routes, kind)
  }

  /// What a further look shows; nil when nothing has changed.
  mutating func look(_ routes: some Sequence<DefaultRoute>, kind: (UInt32) -> Network.Kind) -> Change? {
    let before = self
    self.routes = Set(routes)
    network = NetworkDetection.network(over: self.routes, kind)
    let isNewRoute = !self.routes.isSubset(of: before.routes)
    guard isNewRoute || network != before.network else { return nil }
    return Change(network: network, isNewRoute: isNewRoute)
  }

  private static func network(
    over routes: Set<DefaultRoute>, _ kind: (UInt32) -> Network.Kind
  ) -> Network {
    Network(kind: DefaultRoute.first(of: routes).map { kind($0.device) } ?? .none)
  }
}
