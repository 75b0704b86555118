import JSONRPC
import JSONText
import OuttrayProtocol
import QueueEngine
import QueueModel

/// Tries an entry now, at somebody's wish.
enum Retry: ServedMethod {
  static let method = Method.retry

  static func serve(_ call: Call) throws(RPCError) {
    _ = try call.params.required("id")
    guard let id = try call.params.entryID("id") else { preconditionFailure("the member is there") }
    let reply: Completion<Row> = call.reply(about: [id]) { row, writer in
      writer.object { $0.member("row") { row.write(into: &$0) } }
    }
    call.engine.submit(.retry(id, reply))
  }
}
