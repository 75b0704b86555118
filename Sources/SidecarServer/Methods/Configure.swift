import JSONRPC
import OuttrayProtocol
import QueueEngine
import QueueModel

/// Sets defaults of the queue.
enum Configure: ServedMethod {
  static let method = Method.configure

  static func serve(_ call: Call) throws(RPCError) {
    let change: ConfigurationChange
    do { change = try ConfigurationChange(reading: call.params.whole) } catch { throw RPCError(error) }
    call.engine.submit(.configure(change, from: call.connection.id, call.emptyReply()))
  }
}
