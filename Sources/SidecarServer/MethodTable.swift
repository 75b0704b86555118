import JSONRPC
import JSONText
import OuttrayProtocol

/// The methods by name.
struct MethodTable {
  private static let served: [any (ServedMethod & Sendable).Type] = [
    Initialize.self, Configure.self, EnqueueMethod.self, Cancel.self, Pause.self, Resume.self,
    SetWifiOnly.self,
    SetNetwork.self, UpdateHeaders.self, GetRequests.self, Subscribe.self, Unsubscribe.self, AckEvents.self,
    ReleaseEvents.self, TakeDiagnostics.self, ChunkPlanMethod.self, StatsMethod.self, Ping.self,
    AdvanceClock.self, Shutdown.self, Discover.self,
  ]

  private let methods: [String: any ServedMethod.Type]
  /// A request other than the first was read; `initialize` has to be the first.
  private var isGreeted = false

  init(isClockVirtual: Bool) {
    let served = MethodTable.served.filter { isClockVirtual || $0.method != .advanceClock }
    methods = Dictionary(uniqueKeysWithValues: served.map { ($0.method.rawValue, $0) })
  }

  /// Carries out what a line asks for; every request is answered once.
  mutating func take(_ incoming: Incoming, on connection: Connection, of sidecar: Sidecar) {
    switch incoming {
    case .refused(let id, let error):
      // An id in flight belongs to its first caller, who would take this for the answer.
      if let id, connection.isInFlight(id) {
        connection.refuse(nil, error)
      } else {
        connection.refuse(id, error)
      }
    case .notification(let name): Log.note("ignored a notification called \(JSONPath.member(name, of: ""))")
    case .request(let request):
      guard connection.begin(request.id) else { return connection.refuse(nil, .duplicateID(request.id)) }
      do {
        try serve(request, on: connection, of: sidecar)
        isGreeted = true
      } catch {
        // A host whose version is not served may greet again with one that is.
        if request.method != Method.initialize.rawValue { isGreeted = true }
        connection.refuse(request.id, error)
      }
    }
  }

  private func serve(_ request: Request, on connection: Connection, of sidecar: Sidecar) throws(RPCError) {
    guard let method = methods[request.method] else {
      throw RPCError(
        .method, "no method is called that\(UnknownMember.hint(request.method, known: methods.keys.sorted()))"
      )
    }
    if method.method == .initialize && isGreeted {
      throw RPCError(.request, "initialize has to be the first request of its connection")
    }
    let params = try Params(request.params, of: method.method)
    try method.serve(Call(id: request.id, params: params, connection: connection, sidecar: sidecar))
  }
}
