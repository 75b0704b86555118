import JSONRPC
import JSONText
import OuttrayProtocol
import QueueEngine
import QueueModel

/// Takes many requests into the queue, all of them or none.
enum EnqueueAll: ServedMethod {
  static let method = Method.enqueueAll

  static func serve(_ call: Call) throws(RPCError) {
    guard !call.sidecar.isEnding(for: call.session) else { throw RPCError(Refusal.shutdown) }
    let entries = try call.params.required("entries")
    let enqueues: [Enqueue]
    do throws(InvalidInput) {
      enqueues = try Enqueue.all(reading: entries, path: "entries", makeID: call.makeID)
    } catch {
      throw RPCError(error)
    }
    let ids = enqueues.map(\.id)
    let reply: Completion<[EnqueueAnswer]> = call.reply(about: ids) { answers, writer in
      writer.object {
        $0.member("entries") { entries in
          entries.array { for (id, answer) in zip(ids, answers) { answer.write(of: id, into: &$0) } }
        }
      }
    }
    call.engine.submit(.enqueueAll(enqueues, from: call.connection.id, reply))
  }
}
