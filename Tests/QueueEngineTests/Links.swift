import JSONText
import QueueModel
import QueueStore
import Testing

@testable import QueueEngine

/// Enqueues with what they say of other entries.
extension Sample {
  /// The params of one enqueue, `more` its members beside id, key and request.
  static func linked(_ id: String, _ more: String = "", _ request: String = data()) throws -> Enqueue {
    let json = #"{"id":"\#(id)","key":"k","request":\#(request)\#(more.isEmpty ? "" : "," + more)}"#
    return try Enqueue(reading: JSON(checking: Array(json.utf8))) { EntryID("made") }
  }
}

extension Harness {
  @discardableResult
  func link(_ id: String, _ more: String = "", _ request: String = Sample.data()) throws -> EnqueueAnswer {
    let enqueue = try Sample.linked(id, more, request)
    return try call { .enqueue(enqueue, from: hostID, $0) }
  }

  /// All of them in one call.
  @discardableResult
  func linkAll(_ entries: (id: String, more: String)...) throws -> [EnqueueAnswer] {
    let enqueues = try entries.map { try Sample.linked($0.id, $0.more) }
    return try call { .enqueueAll(enqueues, from: hostID, $0) }
  }

  /// The refusal of such a call, as a text of its place and reason; nil when it was taken.
  func refusal(of id: String, _ more: String, _ request: String = Sample.data()) throws -> String? {
    do {
      try link(id, more, request)
      return nil
    } catch let refusal as Refusal {
      guard case .invalid(let input) = refusal else { throw refusal }
      return "\(input.path): \(input.message)"
    } catch let input as InvalidInput {
      return "\(input.path): \(input.message)"
    }
  }

  func gates(_ id: String) throws -> [ClosedGate] {
    try #require(try call { .explain(EntryID(id), $0) } as Explanation?).gates
  }

  /// Ids of what runs, by creation number.
  var running: [String] {
    get throws {
      try rows().filter { $0.state == .running }.map(\.id.text)
    }
  }

  /// What comes of the attempt of this entry.
  func finish(_ id: String, _ result: AttemptResult) throws {
    let number = try #require(try store.reader.entry(id: EntryID(id))).number
    let attempt = try #require(transport.running.first { $0.attempt.entry == number }).attempt
    transport.finish(attempt, result)
    settle()
  }

  func sent(_ id: String) throws -> Transmission {
    let number = try #require(try store.reader.entry(id: EntryID(id))).number
    return try #require(transport.started.last { $0.attempt.entry == number })
  }

  func outcome(_ id: String) -> Outcome? { host.settled.last { $0.outcome.id.text == id }?.outcome }

  func acknowledge(_ id: String) throws { try acknowledge([#require(outcome(id)).eventID]) }
}

extension Outcome {
  /// Kind of error and message.
  var failure: String? {
    guard case .error(let kind, let message, _) = settlement else { return nil }
    return "\(kind.rawValue): \(message)"
  }
}
