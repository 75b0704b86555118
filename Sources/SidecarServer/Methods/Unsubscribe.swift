import JSONRPC
import OuttrayProtocol
import QueueEngine

/// Ends the subscription of the connection.
enum Unsubscribe: ServedMethod {
  static let method = Method.unsubscribe

  static func serve(_ call: Call) throws(RPCError) {
    call.engine.submit(.unsubscribe(from: call.connection.id, call.emptyReply()))
  }
}
