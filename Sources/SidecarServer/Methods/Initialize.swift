import Glibc
import JSONRPC
import JSONText
import OuttrayProtocol
import QueueModel

/// Greets, and agrees on the version.
enum Initialize: ServedMethod {
  static let method = Method.initialize

  static func serve(_ call: Call) throws(RPCError) {
    let asked = try call.params.required("protocolVersion")
    guard asked.integer == supported else {
      throw RPCError(
        code: ErrorCode.version.number, kind: ErrorCode.version.rawValue,
        message: "protocolVersion: must be \(supported)", path: "protocolVersion",
        extra: [("supported", JSON { $0.array { $0.value(supported) } })])
    }
    let client = try client(call.params.required("client"))
    call.sidecar.log.write(
      .info, "a host says who it is",
      [.init("host", call.session.id.number), .init("client", client.name), .init("version", client.version)])
    call.connection.answer(call.id) { writer in
      writer.object { writer in
        writer.member("protocolVersion", supported)
        writer.member("server") {
          $0.object {
            $0.member("name", "outtray"); $0.member("version", call.sidecar.version)
          }
        }
        writer.member("pid", Int64(getpid()))
        writer.member("dir", call.sidecar.directory)
        writer.member("role", call.session.role.rawValue)
        writer.member("capabilities") { list in
          list.array {
            for capability in capabilities { $0.value(capability) }
            if call.sidecar.awake.standing != nil { $0.value("keepAwake") }
            if call.sidecar.virtualClock != nil { $0.value("virtualClock") }
          }
        }
        writer.member("limits") { limits in
          limits.object {
            $0.member("maxLine", call.sidecar.limits.maxLine)
            $0.member("maxVars", Limits.maxVars)
            $0.member("maxInFlight", call.sidecar.limits.maxInFlight)
            $0.member("maxWindow", Limits.maxWindow)
          }
        }
      }
    }
  }

  private static func client(_ client: JSON) throws(RPCError) -> (name: String, version: String) {
    guard client.kind == .object else {
      throw RPCError(.invalid, "client: must be {name, version}", path: "client")
    }
    for (name, _) in client.members() where !Members.peer.served.contains(name) {
      throw UnknownMember.refusal(name, of: "client", known: .peer)
    }
    return (try text("name", of: client, least: 1), try text("version", of: client, least: 0))
  }

  private static func text(_ name: String, of client: JSON, least: Int) throws(RPCError) -> String {
    guard let text = client[name]?.string, (least...256).contains(text.unicodeScalars.count) else {
      let right = "must be a string of \(least) to 256 characters"
      throw RPCError(.invalid, "client.\(name): \(right)", path: "client.\(name)")
    }
    return text
  }

  private static let supported: Int64 = 1

  /// What a client may meet a sidecar without.
  private static let capabilities = ["parts", "move", "reference", "explain", "retry"]
}
