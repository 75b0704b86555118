import JSONRPC
import OuttrayProtocol
import QueueEngine

/// Says that outcomes were not handled here.
enum ReleaseEvents: ServedMethod {
  static let method = Method.releaseEvents

  static func serve(_ call: Call) throws(RPCError) {
    _ = try call.params.required("eventIds")
    let eventIDs = try call.params.strings("eventIds") ?? []
    call.engine.submit(.release(eventIDs, from: call.connection.id, call.emptyReply()))
  }
}
