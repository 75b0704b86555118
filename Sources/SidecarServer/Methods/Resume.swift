import JSONRPC
import OuttrayProtocol
import QueueEngine

/// Ends a pause of the same scope.
enum Resume: ServedMethod {
  static let method = Method.resume

  static func serve(_ call: Call) throws(RPCError) {
    call.engine.submit(.resume(try call.pauseScope(), call.emptyReply()))
  }
}
