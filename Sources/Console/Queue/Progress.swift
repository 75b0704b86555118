import JSONText
import OuttrayProtocol
package import QueueModel

extension Row {
  /// With the bytes of the attempt in flight, which only the live engine knows. As it is where that cannot
  /// tell.
  package func progressed(by live: LiveQueue?) -> Row {
    guard let live, state == .running else { return self }
    let answer = try? live.call(.getRequests, patience: Row.patience) { $0.member("id", id.text) }
    guard let bytes = answer.flatMap(Row.bytesSent(in:)) else { return self }
    var row = self
    row.bytesSent = max(bytesSent, bytes)
    return row
  }

  /// Out of the result of `getRequests` about one id; nil when nobody has it any more.
  static func bytesSent(in result: JSON) -> Int64? {
    let row = result["requests"]?.elements().first { _ in true }
    return row?["bytesSent"]?.integer
  }

  /// ms: a live engine that is stuck does not keep people from looking.
  private static let patience: Int64 = 1000
}
