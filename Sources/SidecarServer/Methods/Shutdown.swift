import JSONRPC
import OuttrayProtocol

/// Ends the caller's own process after the reply; an owner with other hosts goes on for them.
enum Shutdown: ServedMethod {
  static let method = Method.shutdown

  private enum Mode: String, CaseIterable {
    case now, drain
  }

  static func serve(_ call: Call) throws(RPCError) {
    let mode = try call.params.choice("mode", as: Mode.self) ?? .now
    call.acknowledge()
    call.sidecar.shutDown(for: call.session, drains: mode == .drain)
  }
}
