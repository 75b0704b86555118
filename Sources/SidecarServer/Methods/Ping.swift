import JSONRPC
import JSONText
import OuttrayProtocol

/// Says that the process answers, and what time it has.
enum Ping: ServedMethod {
  static let method = Method.ping

  static func serve(_ call: Call) throws(RPCError) {
    call.connection.answer(call.id) { $0.object { $0.member("now", call.sidecar.wallTime()) } }
  }
}
