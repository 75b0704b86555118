import JSONRPC
import JSONText
import OuttrayProtocol
import QueueEngine
import QueueModel

/// Takes the persisted diagnostic records.
enum TakeDiagnostics: ServedMethod {
  static let method = Method.takeDiagnostics

  static func serve(_ call: Call) throws(RPCError) {
    let reply: Completion<[Diagnostic]> = call.reply { records, writer in
      writer.object {
        $0.member("records") { $0.array { for record in records { record.write(into: &$0) } } }
      }
    }
    call.engine.submit(.diagnostics(reply))
  }
}
