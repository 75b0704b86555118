import JSONRPC
import OuttrayProtocol
import QueueEngine

/// Ends an entry or the members of a group, or forgets what has settled.
enum Cancel: ServedMethod {
  static let method = Method.cancel

  static func serve(_ call: Call) throws(RPCError) {
    if let group = try call.params.groupInsteadOfID() {
      return call.engine.submit(.cancelGroup(group, call.emptyReply()))
    }
    guard let id = try call.params.entryID("id") else { preconditionFailure("the member is there") }
    call.engine.submit(.cancel(id, call.emptyReply()))
  }
}
