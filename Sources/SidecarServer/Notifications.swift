import JSONRPC
import JSONText
import OuttrayProtocol
import QueueEngine
import QueueModel

/// Events as frames.
enum Notifications {
  static func state(_ row: Row) -> [UInt8] {
    notification(.state) { row.write(into: &$0) }
  }

  static func progress(_ id: EntryID, sent: Int64, total: Int64) -> [UInt8] {
    notification(.progress) {
      $0.object {
        $0.member("id", id.text)
        $0.member("bytesSent", sent)
        $0.member("totalBytes", total)
      }
    }
  }

  static func attempt(_ event: AttemptEvent) -> [UInt8] {
    notification(.attempt) { event.write(into: &$0) }
  }

  static func settled(_ outcome: Outcome, deliveries: Int64) -> [UInt8] {
    notification(.settled) { outcome.write(into: &$0, deliveries: deliveries) }
  }

  static func group(_ status: GroupStatus) -> [UInt8] {
    notification(.group) { status.write(into: &$0) }
  }

  static func groupSettled(_ outcome: GroupOutcome, deliveries: Int64) -> [UInt8] {
    notification(.groupSettled) { outcome.write(into: &$0, deliveries: deliveries) }
  }

  static func resync() -> [UInt8] {
    notification(.resync) { $0.object { _ in } }
  }

  private static func notification(_ name: EventName, _ params: (inout JSONWriter) -> Void) -> [UInt8] {
    JSONRPC.notification(method: name.rawValue, params: params)
  }
}
