import JSONRPC
import JSONText
import OuttrayProtocol
import QueueModel

/// The methods by name, as one connection may call them.
struct MethodTable {
  private static let served: [any (ServedMethod & Sendable).Type] = [
    Initialize.self, Configure.self, EnqueueMethod.self, EnqueueAll.self, Cancel.self, Retry.self,
    Pause.self, Resume.self, SetWifiOnly.self, SetNetwork.self, UpdateHeaders.self, GetRequests.self,
    Subscribe.self, Unsubscribe.self, AckEvents.self, ReleaseEvents.self, TakeDiagnostics.self,
    ChunkPlanMethod.self, StatsMethod.self, Explain.self, Ping.self, AdvanceClock.self, Shutdown.self,
    Discover.self,
  ]

  private static let byName = Dictionary(
    uniqueKeysWithValues: served.map { ($0.method.rawValue, $0 as any (ServedMethod & Sendable).Type) })
  /// Without what only tests with a virtual clock may call.
  private static let byNameInRealTime = byName.filter { $0.value.method != .advanceClock }

  /// A request other than the first was read; `initialize` has to be the first.
  private var isGreeted = false

  /// Carries out what a line asks for; every request is answered once.
  mutating func take(_ incoming: Incoming, from session: HostSession, of sidecar: Sidecar) {
    let connection = session.connection
    switch incoming {
    case .refused(let id, let error):
      sidecar.log.write(
        .warn, "a line was refused",
        [.init("code", error.kind), .init("reason", error.message), .init("host", session.id.number)])
      // An id in flight belongs to its first caller, who would take this for the answer.
      if let id, connection.isInFlight(id) {
        connection.refuse(nil, error)
      } else {
        connection.refuse(id, error)
      }
    case .notification(let name):
      sidecar.log.write(
        .warn, "ignored a notification",
        [.init("method", JSONPath.member(name, of: "")), .init("host", session.id.number)])
    case .request(let request):
      guard connection.begin(request.id) else { return connection.refuse(nil, .duplicateID(request.id)) }
      do {
        try serve(request, from: session, of: sidecar)
        isGreeted = true
      } catch {
        // A host whose version is not served may greet again with one that is.
        if request.method != Method.initialize.rawValue { isGreeted = true }
        connection.refuse(request.id, error)
      }
    }
  }

  private func serve(_ request: Request, from session: HostSession, of sidecar: Sidecar) throws(RPCError) {
    let methods = sidecar.virtualClock == nil ? MethodTable.byNameInRealTime : MethodTable.byName
    guard let method = methods[request.method] else {
      let hint = UnknownMember.hint(request.method, known: methods.keys.sorted())
      throw RPCError(.method, "no method is called that\(hint)")
    }
    if method.method == .initialize && isGreeted {
      throw RPCError(.request, "initialize has to be the first request of its connection")
    }
    let params = try Params(request.params, of: method.method)
    try method.serve(Call(id: request.id, params: params, session: session, sidecar: sidecar))
  }
}
