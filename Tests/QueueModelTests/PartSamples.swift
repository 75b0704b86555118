import Testing

@testable import QueueModel

extension Descriptor {
  /// A PUT of the file /a in parts of these sizes to http://h.test/0, /1 and so on.
  static func parts(_ sizes: [Int64], _ more: String = "") throws -> Descriptor {
    var parts: [String] = []
    var start: Int64 = 0
    for (index, size) in sizes.enumerated() {
      parts.append(
        #"{"url":"http://h.test/\#(index)","range":{"start":\#(start),"end":\#(start + size)}}"#)
      start += size
    }
    let list = parts.joined(separator: ",")
    return try Descriptor(
      reading: json(#"{"method":"PUT","file":"/a","parts":[\#(list)]\#(more)}"#))
  }

  var partList: [PartRequest] {
    guard case .parts(_, let parts) = body else { return [] }
    return parts
  }
}

/// An entry in parts with the requests that the store would hold.
struct Chunked {
  var entry: Entry
  var plan: [PartRequest]
  var atOnce = 3
  var gates = Gates()
  var policy = RetryPolicy()
  var now = Moment.start
  var lastDecision: Decision?
  private let bits = CountingBits(from: 50_000)

  init(_ sizes: [Int64], _ more: String = "", key: String = "k") throws {
    let request = try Descriptor.parts(sizes, more)
    plan = request.partList
    entry =
      Entry.created(
        number: 7, from: try Enqueue.sample(request, key: key),
        body: StagedBody(kind: .parts, length: sizes.reduce(0, +), place: .row), gates: gates,
        lifetimeMs: lifetimeMs, now: now, randomness: bits
      ).entry
    policy.backoff = Backoff(baseMs: 1000, maxMs: 8000, jitter: 0)
  }

  var next: Int? { entry.nextPart(gates: gates, partsAtOnce: atOnce, now: now) }

  /// Indexes of what is in flight.
  var inFlight: [Int] { entry.attemptsInFlight.compactMap(\.part) }

  var standing: String { gates.standing(of: entry).rawValue }

  /// Starts parts until none may go; their indexes.
  @discardableResult
  mutating func startAll() -> [Int] {
    var started: [Int] = []
    while let index = next {
      let decision = entry.started(
        part: index, plan[index], requestID: "r\(entry.attempts + 1)", gates: gates, partsAtOnce: atOnce,
        now: now)
      if decision.entry.attempts == entry.attempts { break }
      take(decision)
      started.append(index)
    }
    return started
  }

  mutating func take(_ decision: Decision) {
    entry = decision.entry
    lastDecision = decision
  }

  func attempt(_ index: Int) throws -> AttemptID {
    try #require(entry.attemptsInFlight.first { $0.part == index })
  }

  /// The part in flight ends so.
  @discardableResult
  mutating func finish(_ index: Int, _ result: AttemptResult) throws -> Decision {
    try #require(finish(try attempt(index), result))
  }

  /// nil when the result changed nothing.
  @discardableResult
  mutating func finish(_ attempt: AttemptID, _ result: AttemptResult) throws -> Decision? {
    let index = try #require(attempt.part)
    let decision = entry.finished(
      attempt, result, part: plan[index], policy: policy, gates: gates, partsAtOnce: atOnce, now: now,
      randomness: bits)
    if let decision { take(decision) }
    return decision
  }

  /// The same id again, with these parts instead or, for nil, the same.
  mutating func enqueueAgain(_ sizes: [Int64]? = nil) throws -> SameID {
    let request = try Descriptor.parts(sizes ?? plan.map { Int64($0.range.count) })
    let enqueue = try Enqueue.sample(request)
    let rule = SameID.rule(
      for: enqueue, existing: entry, storedData: nil, storedParts: plan, sourceStamps: nil)
    switch rule {
    case .resume:
      take(
        entry.resumed(by: enqueue, gates: gates, partsAtOnce: atOnce, lifetimeMs: lifetimeMs, now: now))
    case .reopen:
      take(entry.reopened(by: enqueue, gates: gates, lifetimeMs: lifetimeMs, now: now, randomness: bits))
    case .replace:
      take(
        entry.replaced(
          by: enqueue, body: nil, gates: gates, lifetimeMs: lifetimeMs, now: now, randomness: bits))
      plan = request.partList
    case .create, .redeliver, .keep, .refuseRunning: break
    }
    return rule
  }
}
