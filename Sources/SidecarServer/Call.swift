import JSONRPC
import JSONText
import OuttrayProtocol
import QueueEngine
import QueueModel

/// One request of a host on its way through a method.
struct Call {
  let id: RequestID
  let params: Params
  let session: HostSession
  let sidecar: Sidecar

  var connection: Connection { session.connection }
  var engine: EngineThread { sidecar.engine }

  /// Answers with an empty object.
  func acknowledge() {
    connection.answer(id) { $0.object { _ in } }
  }

  /// The reply that turns an engine's answer into a frame.
  func reply<Value: Sendable>(
    about entries: [EntryID] = [], _ write: @escaping @Sendable (Value, inout JSONWriter) -> Void
  ) -> Completion<Value> {
    { [id, connection] result in
      switch result {
      case .success(let value): connection.answer(id, about: entries) { write(value, &$0) }
      case .failure(let refusal): connection.refuse(id, RPCError(refusal))
      }
    }
  }

  /// The reply `{}`.
  func emptyReply() -> Completion<Void> {
    reply { _, writer in writer.object { _ in } }
  }
}

/// A method of the protocol: a file for each.
protocol ServedMethod: Sendable {
  static var method: Method { get }

  /// Reads the params and has the request carried out; the answer goes out when that is done. Throws what is
  /// wrong with the params, before anything is changed.
  static func serve(_ call: Call) throws(RPCError)
}

extension RPCError {
  init(_ code: ErrorCode, _ message: String, path: String? = nil) {
    self.init(code: code.number, kind: code.rawValue, message: message, path: path)
  }

  init(_ input: InvalidInput) {
    self.init(.invalid, "\(input.path): \(input.message)", path: input.path)
  }

  /// What is wrong with one of many requests, which stands at `path`.
  private init(_ error: RPCError, of path: String) {
    let joint = error.path == nil ? ": " : "."
    self.init(
      code: error.code, kind: error.kind, message: path + joint + error.message,
      path: error.path.map { "\(path).\($0)" } ?? path, extra: error.extra)
  }

  init(_ refusal: Refusal) {
    switch refusal {
    case .invalid(let input): self.init(input)
    case .running:
      self.init(.running, "the entry is running with a different body; cancel it, or wait for its outcome")
    case .fileMissing(let input): self.init(.fileMissing, "\(input.path): \(input.message)", path: input.path)
    case .storage(let message): self.init(.storage, "the store cannot be written: \(message)")
    case .shutdown: self.init(.shutdown, "the sidecar is ending; nothing was kept of this call")
    case .entry(let index, let refusal):
      self.init(RPCError(refusal), of: JSONPath.element(index, of: "entries"))
    }
  }
}
