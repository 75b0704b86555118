import JSONRPC
import JSONText
import OuttrayProtocol
import QueueEngine

/// Moves the queue's clock, where it is a virtual one.
enum AdvanceClock: ServedMethod {
  static let method = Method.advanceClock

  static func serve(_ call: Call) throws(RPCError) {
    _ = try call.params.required("ms")
    let milliseconds = try call.params.integer("ms", in: 0...Int64(Limits.maxInteger)) ?? 0
    guard let clock = call.sidecar.virtualClock else {
      throw RPCError(.method, "the clock can be moved only with --virtual-clock")
    }
    call.engine.advance(
      clock, by: milliseconds, call.reply { now, writer in writer.object { $0.member("now", now) } })
  }
}
