import JSONText
import Synchronization
import Testing

@testable import QueueModel

/// The text as a value; a text that is not JSON fails the test where it stands.
func json(_ text: String) throws -> JSON {
  try JSON(checking: Array(text.utf8))
}

/// Bits from a list, then the last of them for ever.
final class ListedBits: Randomness {
  private let bits: [UInt64]
  private let at = Mutex(0)

  init(_ bits: [UInt64] = [0]) { self.bits = bits }

  func next() -> UInt64 {
    at.withLock { index in
      defer { index += 1 }
      return bits[min(index, bits.count - 1)]
    }
  }
}

/// Different bits each time.
final class CountingBits: Randomness {
  private let count: Mutex<UInt64>

  init(from first: UInt64 = 0) { count = Mutex(first) }

  func next() -> UInt64 {
    count.withLock {
      $0 += 1
      return $0 &* 0x9E37_79B9_7F4A_7C15
    }
  }
}

extension Moment {
  static let start = Moment(wall: 1_764_500_000_000, steady: 1_000_000)

  func after(_ ms: Int64) -> Moment { Moment(wall: wall + ms, steady: steady + ms) }
}

extension Descriptor {
  /// A POST of data but for the members given, in JSON.
  static func sample(_ members: String = #""data":{"a":1}"#, url: String = "https://h.test/x") throws
    -> Descriptor
  {
    try Descriptor(reading: json(#"{"url":"\#(url)"\#(members.isEmpty ? "" : ",")\#(members)}"#))
  }
}

extension Enqueue {
  static func sample(
    _ request: Descriptor? = nil, key: String = "k", vars: String = "null"
  ) throws -> Enqueue {
    Enqueue(
      id: EntryID("e"), key: EntryKey(key), vars: try json(vars), request: try request ?? Descriptor.sample())
  }
}

extension StagedBody {
  /// A body of 7 bytes beside the row.
  static func sample(_ kind: BodyKind = .data) -> StagedBody {
    StagedBody(kind: kind, length: 7, place: .row, contentType: kind == .data ? "application/json" : nil)
  }
}

let lifetimeMs: Int64 = 86_400_000

extension Entry {
  /// Created at `Moment.start`, not yet sent.
  static func sample(
    _ request: Descriptor? = nil, key: String = "k", gates: Gates = Gates()
  ) throws -> Entry {
    let enqueue = try Enqueue.sample(request, key: key)
    return Entry.created(
      number: 7, from: enqueue, body: .sample(enqueue.request.body.kind), gates: gates,
      lifetimeMs: lifetimeMs,
      now: .start, randomness: CountingBits(from: 1_000_000)
    ).entry
  }

  /// The same entry with its first attempt in flight.
  func running(_ requestID: String = "r1", gates: Gates = Gates(), now: Moment = .start) -> Entry {
    started(requestID: requestID, gates: gates, now: now).entry
  }

  func settledSample(_ kind: Outcome.Kind) -> Entry {
    var entry = self
    entry.state = .settled(kind, eventID: "event")
    return entry
  }

  /// What the entry becomes when its attempt in flight ends so.
  func finishing(
    _ result: AttemptResult, policy: RetryPolicy = RetryPolicy(), gates: Gates = Gates(),
    now: Moment = .start,
    randomness: any Randomness = CountingBits()
  ) throws -> Decision {
    let attempt = try #require(attemptInFlight)
    return try #require(
      finished(attempt, result, policy: policy, gates: gates, now: now, randomness: randomness))
  }

  /// Of an entry that is one request.
  var attemptInFlight: AttemptID? { attemptsInFlight.first }

  /// As `resumed` with the parts at once of the default.
  func resumed(by enqueue: Enqueue, gates: Gates, lifetimeMs: Int64, now: Moment) -> Decision {
    resumed(by: enqueue, gates: gates, partsAtOnce: 3, lifetimeMs: lifetimeMs, now: now)
  }

  var wait: Wait? {
    guard case .queued(let wait) = state else { return nil }
    return wait
  }
}

extension AttemptResult {
  /// A whole request with a whole answer.
  static func answer(
    _ status: Int, _ body: String = "", headers: [(name: String, value: String)] = [],
    _ completeness: Answer.Completeness = .whole
  ) -> AttemptResult {
    AttemptResult(
      answer: Answer(status: status, headers: headers, body: Array(body.utf8), completeness: completeness),
      failure: completeness == .cut ? TransferFailure(.afterRequestBegan, "closed") : nil,
      requestWentWhole: true,
      bytesSent: 7, bytesReceived: 100)
  }

  static func failure(_ cause: TransferFailure.Cause, _ message: String = "refused") -> AttemptResult {
    AttemptResult(failure: TransferFailure(cause, message), requestWentWhole: false)
  }
}

extension Decision {
  /// The kinds of the effects, in order.
  var effectNames: [String] {
    effects.map { effect in
      switch effect {
      case .stop: "stop"
      case .progress: "progress"
      case .attempt: "attempt"
      case .state: "state"
      }
    }
  }

  var attemptEvent: AttemptEvent? {
    effects.lazy.compactMap { effect in
      if case .attempt(let event) = effect { event } else { nil }
    }.first
  }
}

/// The path of the refusal that `body` throws; nil when it throws none.
func refusedPath(_ body: () throws -> Void) throws -> String? {
  try refusal(body)?.path
}

func refusal(_ body: () throws -> Void) throws -> InvalidInput? {
  do {
    try body()
    return nil
  } catch let error as InvalidInput {
    return error
  }
}
