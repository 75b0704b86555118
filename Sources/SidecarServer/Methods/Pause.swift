import JSONRPC
import OuttrayProtocol
import QueueEngine

/// Holds back the whole queue, or keys and groups.
enum Pause: ServedMethod {
  static let method = Method.pause

  static func serve(_ call: Call) throws(RPCError) {
    call.engine.submit(.pause(try call.pauseScope(), call.emptyReply()))
  }
}
