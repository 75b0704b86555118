import QueueModel
import QueueStore

/// What the machine is connected by, and what its changes move (D16, D34).
extension Turn {
  mutating func setNetwork(
    _ network: Network?, from id: HostID, _ reply: @escaping Completion<Void>, _ writer: Writer
  ) throws(StoreError) {
    answer(reply, ())
    state.networkOverrides.removeAll { $0.host == id }
    if let network, state.connections[id] != nil {
      state.networkOverrides.append((host: id, network: network))
    }
    try applyNetwork(writer)
  }

  mutating func networkDetected(_ network: Network, isNewRoute: Bool, _ writer: Writer) throws(StoreError) {
    state.detectedNetwork = network
    if isNewRoute { try endOutages(writer) }
    try applyNetwork(writer)
  }

  /// The newest override holds, else what was detected. A host that names another way out knows of a change
  /// of route that may not be visible here.
  mutating func applyNetwork(_ writer: Writer) throws(StoreError) {
    let before = state.gates.network.kind
    state.gates.network = state.networkOverrides.last?.network ?? state.detectedNetwork
    let kind = state.gates.network.kind
    if kind != before && kind != .none { try endOutages(writer) }
  }

  private mutating func endOutages(_ writer: Writer) throws(StoreError) {
    state.slots.closeCircuits()
    guard state.gates.endOutages(at: now.steady) else { return }
    try writer.endOutages(at: now.steady)
    mustSync()
  }
}

extension QueueEngine {
  /// A network in these commands stands in for those that could not be taken in before, and are kept until
  /// the store can be written: taken in after it, they would be the newest (D34). Their new route is its own,
  /// unless it has none.
  func takeOverNetworks(_ commands: [Command]) -> [Command] {
    guard !kept.isEmpty, commands.contains(where: { $0.detectedNetwork != nil }) else { return commands }
    let isNewRoute = kept.contains { $0.detectedNetwork?.isNewRoute == true }
    kept.removeAll { $0.detectedNetwork != nil }
    return commands.map { command in
      guard let (network, itself) = command.detectedNetwork, network.kind != .none else { return command }
      return .networkDetected(network, isNewRoute: itself || isNewRoute)
    }
  }
}

extension Command {
  fileprivate var detectedNetwork: (network: Network, isNewRoute: Bool)? {
    if case .networkDetected(let network, let isNewRoute) = self { (network, isNewRoute) } else { nil }
  }
}
