import Testing

@testable import QueueModel

@Suite("Entries in parts: what goes out")
struct PartsTests {
  @Test("D2, D25, B255: three at once, in order, each counted; the first of them makes the entry running")
  func window() throws {
    var chunked = try Chunked([4, 4, 4, 4, 2])
    #expect(chunked.standing == "queued")
    #expect(chunked.next == 0)
    chunked.take(
      chunked.entry.started(
        part: 0, chunked.plan[0], requestID: "r1", gates: Gates(), partsAtOnce: 3, now: chunked.now))
    #expect(chunked.lastDecision?.effectNames == ["state"])
    #expect(chunked.startAll() == [1, 2])
    #expect(chunked.lastDecision?.effectNames == [], "it runs already")
    #expect(chunked.entry.attempts == 3)
    #expect(chunked.standing == "running")
    #expect(chunked.entry.state == .sending(next: nil))
    #expect(chunked.entry.attemptsInFlight.map(\.ordinal) == [1, 2, 3])
  }

  @Test(
    "D25: parts at once follow configure", arguments: [(1, [0]), (2, [0, 1]), (9, [0, 1, 2])])
  func atOnce(_ limit: Int, _ started: [Int]) throws {
    var chunked = try Chunked([1, 1, 1])
    chunked.atOnce = limit
    #expect(chunked.startAll() == started)
  }

  @Test("D25: when fewer may go at once, parts that were begun go again only so many at a time")
  func fewerAtOnce() throws {
    var chunked = try Chunked([1, 1, 1, 1])
    #expect(chunked.startAll() == [0, 1, 2])
    chunked.atOnce = 1
    try chunked.finish(1, .answer(503))
    chunked.now = chunked.now.after(60_000)
    #expect(chunked.next == nil, "two are in flight")
    chunked.take(chunked.entry.stopped(now: chunked.now))
    for index in [1, 0, 2, 3] {
      #expect(chunked.startAll() == [index])
      try chunked.finish(index, .answer(200))
    }
    #expect(chunked.standing == "completed")
  }

  @Test("B256: an accepted part counts its bytes and makes room for the next")
  func refill() throws {
    var chunked = try Chunked([4, 4, 4, 4, 2])
    chunked.startAll()
    let decision = try chunked.finish(1, .answer(200))
    #expect(decision.effectNames == ["attempt"])
    #expect(decision.attemptEvent?.partIndex == 1)
    #expect(decision.attemptEvent?.url == "http://h.test/1")
    #expect(chunked.entry.bytesSent == 4)
    #expect(chunked.entry.state == .sending(next: 0))
    #expect(chunked.startAll() == [3])
  }

  @Test("B270: the bytes of accepted parts are those of their ranges, in whatever order they are accepted")
  func unequal() throws {
    var chunked = try Chunked([3, 5, 2])
    chunked.startAll()
    try chunked.finish(2, .answer(200))
    #expect(chunked.entry.bytesSent == 2)
    try chunked.finish(1, .answer(200))
    #expect(chunked.entry.bytesSent == 7)
  }

  @Test("B256, B279, D43: the last accepted part completes it: no status, its url, index and request id")
  func completes() throws {
    var chunked = try Chunked([4, 4, 2])
    chunked.startAll()
    try chunked.finish(2, .answer(200, "two"))
    try chunked.finish(0, .answer(409))
    #expect(chunked.standing == "error")
    chunked = try Chunked([4, 4, 2], #","accept":[{"status":409}]"#)
    chunked.startAll()
    try chunked.finish(2, .answer(200, "two"))
    try chunked.finish(0, .answer(409))
    let decision = try chunked.finish(1, .answer(201))
    #expect(decision.effectNames == ["progress", "attempt", "state"])
    let outcome = try #require(decision.outcome)
    #expect(outcome.partIndex == 1)
    #expect(outcome.url == "http://h.test/1")
    #expect(outcome.requestID == "r2")
    #expect(outcome.attempts == 3)
    #expect(outcome.bytesSent == 10 && outcome.totalBytes == 10)
    guard case .completed(let response) = outcome.settlement else { return #expect(Bool(false)) }
    #expect(response.status == nil && response.body == nil && response.headers.isEmpty)
    #expect(!response.bodyTruncated)
  }

  @Test("D9, A-BODY-04: a file of no bytes is one part of length 0")
  func empty() throws {
    var chunked = try Chunked([0])
    #expect(chunked.startAll() == [0])
    let outcome = try #require(try chunked.finish(0, .answer(200)).outcome)
    #expect(outcome.settlement.kind == .completed && outcome.totalBytes == 0)
  }

  @Test(
    "B257, B269, D30: a terminal part ends all of it; the others stop, accepted bytes stay, it is named",
    arguments: [
      (AttemptResult.answer(400), ErrorKind.http, "HTTP 400 on part 2"),
      (.failure(.bodyMissing, "the staged body is missing"), .file, "the staged body is missing on part 2"),
    ])
  func terminal(_ result: AttemptResult, _ kind: ErrorKind, _ message: String) throws {
    var chunked = try Chunked([4, 4, 4, 4])
    chunked.startAll()
    try chunked.finish(0, .answer(200))
    let decision = try chunked.finish(2, result)
    #expect(decision.effectNames == ["stop", "progress", "attempt", "state"])
    let outcome = try #require(decision.outcome)
    guard case .error(kind, message, _) = outcome.settlement else {
      throw InvalidInput(path: "\(outcome.settlement)", message: "")
    }
    #expect(outcome.partIndex == 2)
    #expect(outcome.url == "http://h.test/2")
    #expect(outcome.bytesSent == 4, "B272: accepted, not under way")
    #expect(chunked.inFlight.isEmpty)
    #expect(decision.attemptEvent?.partIndex == 2)
  }

  @Test("D15, B262: a part in backoff holds its slot with its own count while the others go on")
  func holdsSlot() throws {
    var chunked = try Chunked([1, 1, 1, 1, 1, 1])
    chunked.startAll()
    try chunked.finish(1, .answer(503))
    #expect(chunked.startAll().isEmpty, "no other part takes its slot")
    #expect(chunked.standing == "running")
    #expect(chunked.entry.state == .sending(next: chunked.now.steady + 1000))
    try chunked.finish(0, .answer(200))
    #expect(chunked.startAll() == [3])
    chunked.now = chunked.now.after(1000)
    #expect(chunked.startAll() == [1])
    try chunked.finish(1, .answer(503))
    try chunked.finish(3, .answer(503))
    let waits = chunked.entry.parts?.open.compactMap { part -> Int64? in
      if case .waiting(let wait) = part.state { wait.due - chunked.now.steady } else { nil }
    }
    #expect(waits == [2000, 1000], "n is each part's own")
  }

  @Test("B263, D2: nextAttemptAt is shown when every part under way waits: the earliest, told once")
  func nextAttempt() throws {
    var chunked = try Chunked([1, 1, 1, 1, 1])
    chunked.startAll()
    func row(_ chunked: Chunked) -> Row { Row(chunked.entry, gates: chunked.gates, now: chunked.now) }
    try chunked.finish(0, .answer(503))
    #expect(chunked.lastDecision?.effectNames == ["attempt"])
    chunked.now = chunked.now.after(100)
    try chunked.finish(1, .answer(503))
    #expect(row(chunked).state == .running && row(chunked).nextAttemptAt == nil)
    try chunked.finish(2, .answer(503))
    #expect(chunked.lastDecision?.effectNames == ["attempt", "state"])
    #expect(row(chunked).state == .queued)
    #expect(row(chunked).nextAttemptAt == Moment.start.wall + 1000)
    chunked.now = Moment.start.after(1000)
    #expect(chunked.startAll() == [0])
    #expect(chunked.lastDecision?.effectNames == ["state"])
    #expect(row(chunked).nextAttemptAt == nil)
    #expect(chunked.entry.state == .sending(next: Moment.start.steady + 1100))
  }

  @Test("D12: cut answers are counted for each part by itself")
  func cutAnswers() throws {
    var chunked = try Chunked([1, 1])
    for _ in 0..<4 {
      chunked.startAll()
      try chunked.finish(0, .answer(200, completeness: .cut))
      try chunked.finish(1, .answer(200, completeness: .cut))
      chunked.now = chunked.now.after(8000)
    }
    chunked.startAll()
    try chunked.finish(0, .answer(200, completeness: .cut))
    #expect(chunked.entry.parts?.accepted == 1, "the fifth in a row counts")
    let outcome = try #require(try chunked.finish(1, .answer(200, completeness: .cut)).outcome)
    guard case .completed(let response) = outcome.settlement else { return #expect(Bool(false)) }
    #expect(response.bodyTruncated)
  }

  @Test("B298: a transient rule counts for each part by itself; the first past its cap decides")
  func rules() throws {
    var chunked = try Chunked([1, 1, 1])
    chunked.policy.transient = [TransientRule(status: 418, maxRetries: 1)]
    chunked.startAll()
    for index in 0..<3 { try chunked.finish(index, .answer(418)) }
    chunked.now = chunked.now.after(1000)
    #expect(chunked.startAll() == [0, 1, 2])
    try chunked.finish(2, .answer(418))
    #expect(chunked.standing == "error")
    guard case .error(.http, "HTTP 418 on part 2", let response?) = chunked.lastDecision?.outcome?.settlement
    else { return #expect(Bool(false)) }
    #expect(response.status == 418)
  }

  @Test("D18: a part whose reused connection died is sent again at once, once")
  func followsAtOnce() throws {
    var chunked = try Chunked([1, 1])
    var died = AttemptResult.failure(.afterRequestBegan)
    died.connectionWasReused = true
    chunked.startAll()
    try chunked.finish(0, died)
    #expect(chunked.startAll() == [0])
    try chunked.finish(0, died)
    #expect(chunked.startAll().isEmpty)
  }
}

extension AttemptResult {
  fileprivate static func answer(_ status: Int, completeness: Answer.Completeness) -> AttemptResult {
    .answer(status, "", headers: [], completeness)
  }
}
