import JSONRPC
import OuttrayProtocol
import QueueEngine

/// Sets whether entries without their own `wifiOnly` wait for an unmetered network.
enum SetWifiOnly: ServedMethod {
  static let method = Method.setWifiOnly

  static func serve(_ call: Call) throws(RPCError) {
    call.engine.submit(.setWifiOnly(try call.params.bool("wifiOnly"), call.emptyReply()))
  }
}
