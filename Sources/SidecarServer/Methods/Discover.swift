import JSONRPC
import JSONText
import OuttrayProtocol

/// Hands out the OpenRPC document.
enum Discover: ServedMethod {
  static let method = Method.discover

  static func serve(_ call: Call) throws(RPCError) {
    call.connection.answer(call.id) { $0.raw(document) }
  }

  private static let document = JSON(trusted: Array(OpenRPCDocument.text.utf8))
}
