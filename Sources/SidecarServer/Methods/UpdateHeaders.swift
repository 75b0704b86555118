import JSONRPC
import OuttrayProtocol
import QueueEngine
import QueueModel

/// Merges header fields into every entry covered and lets parked ones go on.
enum UpdateHeaders: ServedMethod {
  static let method = Method.updateHeaders

  static func serve(_ call: Call) throws(RPCError) {
    let json = try call.params.required("headers")
    let headers: HeaderFields
    do { headers = try HeaderFields(reading: json, path: "headers") } catch { throw RPCError(error) }
    var origin: Origin?
    if let text = try call.params.string("origin") {
      do { origin = try RequestURL(reading: text, path: "origin").origin } catch { throw RPCError(error) }
    }
    call.engine.submit(
      .updateHeaders(headers, keys: try call.params.keys(), origin: origin, call.emptyReply()))
  }
}
