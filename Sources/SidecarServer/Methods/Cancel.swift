import JSONRPC
import OuttrayProtocol
import QueueEngine

/// Ends an entry, or forgets a settled one.
enum Cancel: ServedMethod {
  static let method = Method.cancel

  static func serve(_ call: Call) throws(RPCError) {
    _ = try call.params.required("id")
    guard let id = try call.params.entryID("id") else { preconditionFailure("the member is there") }
    call.engine.submit(.cancel(id, call.emptyReply()))
  }
}
