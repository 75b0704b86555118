import JSONRPC
import JSONText
import OuttrayProtocol
import QueueEngine
import QueueModel

/// Takes a request into the queue.
enum EnqueueMethod: ServedMethod {
  static let method = Method.enqueue

  static func serve(_ call: Call) throws(RPCError) {
    guard !call.sidecar.isEnding(for: call.session) else { throw RPCError(Refusal.shutdown) }
    let enqueue: Enqueue
    do throws(InvalidInput) {
      enqueue = try Enqueue(reading: call.params.whole, makeID: call.makeID)
    } catch {
      throw RPCError(error)
    }
    let id = enqueue.id
    let reply: Completion<EnqueueAnswer> = call.reply(about: [id]) { answer, writer in
      answer.write(of: id, into: &writer)
    }
    call.engine.submit(.enqueue(enqueue, from: call.connection.id, reply))
  }
}

extension Call {
  func makeID() -> EntryID { EntryID(sidecar.randomness.uuid()) }
}

extension EnqueueAnswer {
  func write(of id: EntryID, into writer: inout JSONWriter) {
    writer.object {
      $0.member("id", id.text)
      $0.member("generation", generation)
      $0.member("disposition", disposition.rawValue)
      $0.member("row") { row.write(into: &$0) }
    }
  }
}
