import JSONRPC
import OuttrayProtocol
import QueueEngine
import QueueModel

/// Overrides what the sidecar detects of the network, as long as the connection lasts.
enum SetNetwork: ServedMethod {
  static let method = Method.setNetwork

  private enum Kind: String, CaseIterable {
    case auto, wifi, ethernet, cellular, none
  }

  static func serve(_ call: Call) throws(RPCError) {
    _ = try call.params.required("type")
    let kind = try call.params.choice("type", as: Kind.self) ?? .auto
    let isMetered = try call.params.optional("metered") == nil ? false : call.params.bool("metered")
    let network: Network? =
      switch kind {
      case .auto: nil
      case .wifi: Network(kind: .wifi, isMetered: isMetered)
      case .ethernet: Network(kind: .ethernet, isMetered: isMetered)
      case .cellular: Network(kind: .cellular, isMetered: isMetered)
      case .none: Network(kind: .none, isMetered: isMetered)
      }
    call.engine.submit(.setNetwork(network, from: call.connection.id, call.emptyReply()))
  }
}
