import JSONRPC
import OuttrayProtocol
import QueueEngine

/// Acknowledges outcomes, which are then forgotten.
enum AckEvents: ServedMethod {
  static let method = Method.ackEvents

  static func serve(_ call: Call) throws(RPCError) {
    _ = try call.params.required("eventIds")
    let eventIDs = try call.params.strings("eventIds") ?? []
    call.engine.submit(.acknowledge(eventIDs, from: call.connection.id, call.emptyReply()))
  }
}
