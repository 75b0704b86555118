import QueueEngine
import QueueModel
import Synchronization

/// Remembers what it was told, events and replies in one order.
final class RecordingHost: Host {
  enum Line: Sendable {
    case event(HostEvent)
    /// Of whatever the test names.
    case reply(String)
  }

  private let lines = Mutex([Line]())
  private let behind = Mutex(false)

  func receive(_ event: HostEvent) { lines.withLock { $0.append(.event(event)) } }

  func note(reply: String) { lines.withLock { $0.append(.reply(reply)) } }

  var isBehind: Bool { behind.withLock { $0 } }

  func setBehind(_ value: Bool) { behind.withLock { $0 = value } }

  func clear() { lines.withLock { $0 = [] } }

  var all: [HostEvent] {
    lines.withLock { $0.compactMap { if case .event(let event) = $0 { event } else { nil } } }
  }

  var states: [Row] { all.compactMap { if case .state(let row) = $0 { row } else { nil } } }

  var settled: [(outcome: Outcome, deliveries: Int64)] {
    all.compactMap {
      if case .settled(let outcome, let deliveries) = $0 { (outcome, deliveries) } else { nil }
    }
  }

  var groups: [GroupStatus] { all.compactMap { if case .group(let status) = $0 { status } else { nil } } }

  var groupsSettled: [(outcome: GroupOutcome, deliveries: Int64)] {
    all.compactMap {
      if case .groupSettled(let outcome, let deliveries) = $0 { (outcome, deliveries) } else { nil }
    }
  }

  var eventIDs: [String] { settled.map(\.outcome.eventID) }

  var attempts: [AttemptEvent] { all.compactMap { if case .attempt(let event) = $0 { event } else { nil } } }

  /// Events and replies by name, with the id that each is about.
  var names: [String] {
    lines.withLock { lines in
      lines.map {
        switch $0 {
        case .reply(let name): "reply \(name)"
        case .event(.state(let row)): "state \(row.id) \(row.state.rawValue)"
        case .event(.progress(let id, let sent, _)): "progress \(id) \(sent)"
        case .event(.attempt(let event)): "attempt \(event.id) \(event.attempt)"
        case .event(.settled(let outcome, _)): "settled \(outcome.id) \(outcome.settlement.kind.rawValue)"
        case .event(.group(let status)): "group \(status.group)"
        case .event(.groupSettled(let outcome, _)): "groupSettled \(outcome.group)"
        case .event(.resync): "resync"
        }
      }
    }
  }
}
