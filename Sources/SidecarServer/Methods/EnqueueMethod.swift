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
    let id = try call.params.entryID("id") ?? EntryID(call.sidecar.randomness.uuid())
    _ = try call.params.required("key")
    guard let key = try call.params.entryKey("key") else { preconditionFailure("the member is there") }
    let vars = call.params.optional("vars") ?? .null
    guard [.object, .array, .null].contains(vars.kind) else {
      throw RPCError(.invalid, "vars: must be an object, an array or null", path: "vars")
    }
    guard vars.count <= Limits.maxVars else {
      throw RPCError(
        .invalid, "vars: has \(vars.count) bytes, at most \(Limits.maxVars) are kept", path: "vars")
    }
    let request: Descriptor
    do { request = try Descriptor(reading: call.params.required("request")) } catch let error as InvalidInput
    {
      throw RPCError(error)
    } catch let error as RPCError {
      throw error
    } catch {
      preconditionFailure("both throw what was caught")
    }
    let enqueue = Enqueue(id: id, key: key, vars: vars, request: request)
    let reply: Completion<EnqueueAnswer> = call.reply(about: id) { answer, writer in
      writer.object {
        $0.member("id", id.text)
        $0.member("generation", answer.generation)
        $0.member("disposition", answer.disposition.rawValue)
        $0.member("row") { answer.row.write(into: &$0) }
      }
    }
    call.engine.submit(.enqueue(enqueue, from: call.connection.id, reply))
  }
}
