import Foundation
import QueueEngine
import QueueModel
import QueueStore
import Testing

/// Sizes whose file is kept as a file, not in its row.
private let large = [40_000, 40_000, 40_000, 40_000, 5]

@Suite struct PartsTests {
  @Test("B255, D26: the source is moved, three go at once, each exactly its range of the one file")
  func ranges() throws {
    let harness = try Harness()
    let path = try harness.source(sizes: large)
    try harness.enqueue("a", Sample.parts(path, large, #""headers":{"X-E":"e"}"#))
    #expect(!harness.exists(path))
    #expect(harness.flying == [0, 1, 2])
    for part in 0..<5 { try harness.finish(part: part, .answer(200)) }
    let sent = harness.transport.started.sorted { ($0.attempt.part ?? 0) < ($1.attempt.part ?? 0) }
    let slices = sent.map { transmission -> [Int64] in
      guard case .file(_, let offset, let length) = transmission.body else { return [] }
      return [offset, length]
    }
    #expect(
      slices == [[0, 40_000], [40_000, 40_000], [80_000, 40_000], [120_000, 40_000], [160_000, 5]])
    #expect(sent.map(\.url.text) == (0..<5).map { "http://h.test/\($0)" })
    #expect(sent.allSatisfy { $0.method == .put && $0.headers["x-e"] == "e" })
    #expect(Set(sent.map { $0.headers["x-request-id"] }).count == 5)
  }

  @Test("B255, D27: parts of a small file are cut from the bytes in its row")
  func smallRanges() throws {
    let harness = try Harness()
    try harness.enqueue("a", Sample.parts(try harness.source("source", "abcdefg"), [3, 4]))
    let bodies = harness.transport.running.map { transmission -> String in
      guard case .bytes(let bytes) = transmission.body else { return "" }
      return String(decoding: bytes, as: UTF8.self)
    }
    #expect(bodies == ["abc", "defg"])
  }

  @Test("D9, A-BODY-04: an empty file in its one empty part is one request of length 0")
  func emptyFile() throws {
    let harness = try Harness()
    try harness.enqueue("a", Sample.parts(try harness.source("source", ""), [0]))
    #expect(harness.transport.running.map(\.body.length) == [0])
    try harness.finish(part: 0, .answer(200))
    #expect(try harness.row().map { [$0.bytesSent, $0.totalBytes] } == [0, 0])
    #expect(try harness.state() == .completed)
  }

  @Test("B256, B279: the outcome names the last part and no status; acknowledged, every trace is gone")
  func outcome() throws {
    let harness = try Harness()
    try harness.subscribe()
    try harness.enqueueParts("a", large)
    for part in [0, 1, 2, 4, 3] { try harness.finish(part: part, .answer(200, body: "x")) }
    let outcome = try #require(harness.host.settled.first?.outcome)
    #expect(outcome.partIndex == 3 && outcome.url == "http://h.test/3" && outcome.attempts == 5)
    #expect(outcome.requestID == harness.transport.started[3].headers["x-request-id"])
    guard case .completed(let response) = outcome.settlement else { return #expect(Bool(false)) }
    #expect(response.status == nil && response.body == nil)
    #expect(harness.host.attempts.map(\.partIndex) == [0, 1, 2, 4, 3])
    #expect(harness.host.attempts.map(\.url) == [0, 1, 2, 4, 3].map { "http://h.test/\($0)" })
    #expect(
      harness.host.names.suffix(4) == [
        "progress a 160005", "attempt a 4", "state a completed", "settled a completed",
      ])
    try harness.acknowledge(harness.host.eventIDs)
    #expect(try harness.row() == nil)
    #expect(try harness.bodyFiles().isEmpty)
    #expect(try harness.store.reader.counts().isEmpty)
  }

  @Test("B256: an accepted part survives a kill that follows it, and only the rest goes out again")
  func keptOverKill() throws {
    let harness = try Harness()
    try harness.enqueueParts("a", large)
    try harness.finish(part: 1, .answer(200))
    #expect(harness.flying == [0, 2, 3])
    try harness.relaunch()
    #expect(try harness.row()?.bytesSent == 40_000)
    #expect(Set(harness.flying) == [0, 2, 3])
    for part in [0, 2, 3, 4] { try harness.finish(part: part, .answer(200)) }
    #expect(try harness.state() == .completed)
    let counts = Dictionary(grouping: harness.transport.started.compactMap(\.attempt.part)) { $0 }
    #expect(counts.mapValues(\.count) == [0: 2, 1: 1, 2: 2, 3: 2, 4: 1])
  }

  @Test("D2: hosts are told running once, whatever parts come and go")
  func states() throws {
    let harness = try Harness()
    try harness.subscribe([.state])
    try harness.enqueueParts("a", large)
    for part in 0..<5 { try harness.finish(part: part, .answer(200)) }
    #expect(harness.host.states.map(\.state) == [.queued, .running, .completed])
  }

  @Test("B257: a terminal part settles all of it, stops its siblings in the transport, and keeps the bytes")
  func terminal() throws {
    let harness = try Harness()
    try harness.subscribe()
    try harness.enqueueParts("a", large)
    try harness.finish(part: 0, .answer(200))
    let siblings = harness.transport.running.map(\.attempt).filter { $0.part != 2 }
    try harness.finish(part: 2, .answer(410, body: "gone"))
    #expect(Set(harness.transport.stopped) == Set(siblings))
    #expect(harness.flying.isEmpty)
    let outcome = try #require(harness.host.settled.first?.outcome)
    guard case .error(.http, "HTTP 410 on part 2", let response?) = outcome.settlement else {
      return #expect(Bool(false))
    }
    #expect(response.status == 410 && outcome.partIndex == 2)
    #expect(outcome.bytesSent == 40_000 && outcome.totalBytes == 160_005)
    try harness.acknowledge([outcome.eventID])
    #expect(try harness.bodyFiles().count == 1)
    #expect(try harness.state() == .error)
  }

  @Test(
    "B258, D28: other parts over the kept bytes when the source is gone; a plan that does not fit is refused")
  func otherPartsOverOwned() throws {
    let harness = try Harness()
    let path = try harness.source(sizes: large)
    try harness.enqueue("a", Sample.parts(path, large))
    try harness.finish(part: 0, .answer(200))
    try harness.finish(part: 1, .answer(410))
    #expect(throws: Refusal.self) { try harness.enqueue("a", Sample.parts(path, [100_000, 60_006])) }
    #expect(try harness.state() == .error)
    let answer = try harness.enqueue("a", Sample.parts(path, [100_000, 60_005], host: "g"))
    #expect(answer.disposition == .replaced && answer.generation == 2)
    #expect(answer.row.bytesSent == 0)
    #expect(harness.transport.running.map(\.url.text) == ["http://g.test/0", "http://g.test/1"])
    for part in 0..<2 { try harness.finish(part: part, .answer(200)) }
    #expect(try harness.state() == .completed)
    #expect(try harness.bodyFiles().count == 1)
  }

  @Test("B259: other parts and a file that is there use that file, of whatever size")
  func otherPartsOverNewFile() throws {
    let harness = try Harness()
    let path = try harness.source(sizes: large)
    try harness.enqueue("a", Sample.parts(path, large))
    try harness.finish(part: 1, .answer(410))
    _ = try harness.source(sizes: [70_000, 1])
    let answer = try harness.enqueue("a", Sample.parts(path, [70_000, 1]))
    #expect(answer.disposition == .replaced && answer.row.totalBytes == 70_001)
    #expect(!harness.exists(path))
    #expect(try harness.bodyFiles().count == 1, "the old bytes are gone")
  }

  @Test("A-FILE-09, B138, B259: parts that do not tile the file are refused by name; it stays, the entry too")
  func misfit() throws {
    let harness = try Harness()
    let path = try harness.source(sizes: large)
    let refused = Sample.parts(path, [100_000, 60_006])
    #expect {
      try harness.enqueue("a", refused)
    } throws: { error in
      guard case .invalid(let input)? = error as? Refusal else { return false }
      return input.path == "request.parts[1].range.end" && input.message.contains("160005")
    }
    #expect(harness.exists(path))
    #expect(try harness.bodyFiles().isEmpty && harness.rows().isEmpty)
    try harness.enqueue("a", Sample.parts(path, large))
    try harness.finish(part: 1, .answer(410))
    _ = try harness.source(sizes: [7])
    #expect(throws: Refusal.self) { try harness.enqueue("a", Sample.parts(path, [8])) }
    #expect(harness.exists(path))
    #expect(try harness.row().map { [$0.totalBytes, Int64($0.attempts)] } == [160_005, 3])
  }

  @Test("B260, B140: the same parts again start nothing twice and leave a file at that path alone")
  func sameParts() throws {
    let harness = try Harness()
    let path = try harness.source(sizes: large)
    let request = Sample.parts(path, large)
    try harness.enqueue("a", request)
    try harness.finish(part: 0, .answer(200))
    _ = try harness.source(sizes: [3])
    let answer = try harness.enqueue("a", request)
    #expect(answer.disposition == .resumed && answer.row.bytesSent == 40_000)
    #expect(harness.exists(path))
    #expect(harness.flying == [1, 2, 3])
    #expect(harness.transport.started.count == 4)
    try harness.finish(part: 3, .answer(410))
    #expect(try harness.enqueue("a", request).disposition == .reopened)
    #expect(try harness.row()?.bytesSent == 40_000)
    #expect(Set(harness.flying) == [1, 2, 3])
  }

  @Test("B261: other parts while any is in flight are E_RUNNING, and the file stays")
  func running() throws {
    let harness = try Harness()
    let path = try harness.source(sizes: large)
    try harness.enqueue("a", Sample.parts(path, large))
    _ = try harness.source(sizes: large)
    #expect {
      try harness.enqueue("a", Sample.parts(path, [160_005]))
    } throws: { error in
      if case .running? = error as? Refusal { true } else { false }
    }
    #expect(harness.exists(path))
    #expect(harness.flying == [0, 1, 2])
  }

  @Test("B260: new part headers go out with the same parts", arguments: [true, false])
  func newPartHeaders(_ isPaused: Bool) throws {
    let harness = try Harness()
    let path = try harness.source(sizes: [3])
    func request(_ value: String) -> String {
      let part = #"{"url":"http://h.test/0","headers":{"A":"\#(value)"},"range":{"start":0,"end":3}}"#
      return #"{"method":"PUT","file":"\#(path)","parts":[\#(part)]}"#
    }
    if isPaused { try harness.pause() }
    try harness.enqueue("a", request("old"))
    #expect(try harness.enqueue("a", request("new")).disposition == .resumed)
    if isPaused { try harness.resume() } else { try harness.finish(part: 0, .answer(401)) }
    #expect(harness.transport.running.map { $0.headers["a"] } == ["new"])
  }

  @Test("B273: any id serves for an entry in parts", arguments: ["a/b", "..", "a:0", "\u{0}", "'; --", "😀"])
  func hostileIDs(_ id: String) throws {
    let harness = try Harness()
    try harness.enqueueParts(id, [1, 1])
    try harness.finish(part: 0, .answer(200))
    try harness.relaunch()
    try harness.finish(part: 1, .answer(200))
    #expect(try harness.state(id) == .completed)
  }
}
