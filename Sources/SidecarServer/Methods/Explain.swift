import JSONRPC
import JSONText
import OuttrayProtocol
import QueueEngine
import QueueModel

/// Says everything that holds an entry back, or the members of a group.
enum Explain: ServedMethod {
  static let method = Method.explain

  static func serve(_ call: Call) throws(RPCError) {
    if let group = try call.params.groupInsteadOfID() { return explain(group, call) }
    guard let id = try call.params.entryID("id") else { preconditionFailure("the member is there") }
    let (request, connection) = (call.id, call.connection)
    call.engine.submit(
      .explain(id) { result in
        switch result {
        case .success(let explanation?):
          connection.answer(request) { write(explanation, of: id, into: &$0) }
        case .success(nil):
          connection.refuse(request, RPCError(.invalid, "id: names no entry", path: "id"))
        case .failure(let refusal): connection.refuse(request, RPCError(refusal))
        }
      })
  }

  private static func explain(_ group: EntryGroup, _ call: Call) {
    let (request, connection) = (call.id, call.connection)
    call.engine.submit(
      .explainGroup(group) { result in
        switch result {
        case .success(let explanation?): connection.answer(request) { write(explanation, into: &$0) }
        case .success(nil):
          connection.refuse(request, RPCError(.invalid, "group: names no group", path: "group"))
        case .failure(let refusal): connection.refuse(request, RPCError(refusal))
        }
      })
  }

  private static func write(_ explanation: GroupExplanation, into writer: inout JSONWriter) {
    writer.object {
      explanation.status.writeMembers(into: &$0)
      $0.member("entries") { entries in
        entries.array { for (id, entry) in explanation.entries { write(entry, of: id, into: &$0) } }
      }
    }
  }

  private static func write(_ explanation: Explanation, of id: EntryID, into writer: inout JSONWriter) {
    writer.object {
      $0.member("id", id.text)
      $0.member("state", explanation.state.rawValue)
      $0.member("gates") { $0.array { for gate in explanation.gates { gate.write(into: &$0) } } }
    }
  }
}
