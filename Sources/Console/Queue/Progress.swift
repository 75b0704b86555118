import JSONText
import OuttrayProtocol
package import QueueModel

extension Row {
  /// With the bytes of the attempt in flight, which only the live engine knows. As it is where that cannot
  /// tell.
  package func progressed(by live: LiveQueue?) -> Row {
    guard let live, state == .running else { return self }
    let answer = try? live.call(.getRequests, patience: Row.patience) { $0.member("id", id.text) }
    guard let rows = answer?["requests"], let told = rows.elements().first(where: { _ in true }),
      let bytes = told["bytesSent"]?.integer
    else { return self }
    var row = self
    row.bytesSent = max(bytesSent, bytes)
    return row
  }

  /// ms: a live engine that is stuck does not keep people from looking.
  private static let patience: Int64 = 1000
}
