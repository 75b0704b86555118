import JSONRPC
import OuttrayProtocol

/// Ends the process after the reply.
enum Shutdown: ServedMethod {
  static let method = Method.shutdown

  private enum Mode: String, CaseIterable {
    case now, drain
  }

  static func serve(_ call: Call) throws(RPCError) {
    let mode = try call.params.choice("mode", as: Mode.self) ?? .now
    call.acknowledge()
    switch mode {
    case .now: call.sidecar.end(drains: false, within: 2000)
    case .drain: call.sidecar.end(drains: true, within: 0)
    }
  }
}
