import JSONRPC
import OuttrayProtocol
import QueueEngine
import QueueModel

/// Asks for events; a further call replaces the subscription.
enum Subscribe: ServedMethod {
  static let method = Method.subscribe

  static func serve(_ call: Call) throws(RPCError) {
    _ = try call.params.required("events")
    var kinds: Set<Subscription.Kind> = []
    for (index, name) in (try call.params.strings("events") ?? []).enumerated() {
      guard let kind = Subscription.Kind(rawValue: name) else {
        let names = Subscription.Kind.allCases.map(\.rawValue).joined(separator: ", ")
        throw RPCError(.invalid, "events[\(index)]: must be one of \(names)", path: "events[\(index)]")
      }
      kinds.insert(kind)
    }
    let window =
      try call.params.integer("window", in: 1...Int64(Limits.maxWindow)) ?? Int64(Limits.defaultWindow)
    let subscription = Subscription(kinds: kinds, keys: try call.params.keys(), window: Int(window))
    call.engine.submit(.subscribe(subscription, from: call.connection.id, call.emptyReply()))
  }
}
