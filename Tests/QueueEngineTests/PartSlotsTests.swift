import QueueEngine
import QueueModel
import Testing

@Suite struct PartSlotsTests {
  private let many = [Int](repeating: 10, count: 12)

  private func flights(_ harness: Harness) -> [Int64: Int] {
    Dictionary(grouping: harness.transport.running, by: \.attempt.entry).mapValues(\.count)
  }

  @Test("D25: parts take global slots, so another entry of the same priority waits, and a high one does not")
  func globalSlots() throws {
    let harness = try Harness()
    try harness.enqueueParts("a", many)
    try harness.enqueueParts("b", many, name: "other")
    #expect(flights(harness) == [1: 3])
    try harness.enqueue("c", Sample.data(1, #""priority":"high""#))
    #expect(flights(harness) == [1: 3, 3: 1])
    try harness.finish(part: 0, .answer(200))
    #expect(flights(harness) == [1: 3, 3: 1], "what was begun goes on before others of its bucket")
  }

  @Test("D25: partsPerEntry leaves slots for others, and counts from the next attempt")
  func partsPerEntry() throws {
    let harness = try Harness()
    func configure(_ parts: Int) throws {
      try harness.configure(
        #"{"concurrency":{"total":6,"reservedHigh":0,"partsPerEntry":\#(parts),"perOrigin":6}}"#)
    }
    try configure(2)
    try harness.enqueueParts("a", many)
    try harness.enqueueParts("b", many, name: "other")
    #expect(flights(harness) == [1: 2, 2: 2])
    try configure(1)
    try harness.finish(part: 0, .answer(200))
    #expect(flights(harness) == [1: 1, 2: 2])
    try configure(4)
    #expect(flights(harness) == [1: 4, 2: 2])
  }

  /// One byte to each of these hosts.
  private func enqueue(_ harness: Harness, partsTo hosts: [String]) throws {
    let path = try harness.source("source", String(repeating: "x", count: hosts.count))
    let parts = hosts.enumerated().map { index, host in
      #"{"url":"http://\#(host).test/\#(index)","range":{"start":\#(index),"end":\#(index + 1)}}"#
    }
    let list = parts.joined(separator: ",")
    try harness.enqueue("a", #"{"method":"PUT","file":"\#(path)","parts":[\#(list)]}"#)
  }

  private func origins(_ harness: Harness) -> [String] {
    harness.transport.running.map { $0.url.origin.text }.sorted()
  }

  @Test("D25: perOrigin holds for the origin that a part goes to, whatever the part before went to")
  func perOrigin() throws {
    let harness = try Harness()
    try harness.configure(
      #"{"concurrency":{"total":6,"reservedHigh":0,"partsPerEntry":3,"perOrigin":1}}"#)
    try harness.enqueue("b", key: "other", #"{"url":"http://other.test/","data":1}"#)
    try enqueue(harness, partsTo: ["h", "other", "h", "other"])
    #expect(origins(harness) == ["http://h.test:80", "http://other.test:80"])
    try harness.finish(part: 0, .answer(200))
    #expect(origins(harness) == ["http://other.test:80"], "part 1 has to wait for the other entry")
    let other = try #require(harness.transport.running.first { $0.attempt.part == nil })
    harness.transport.finish(other.attempt, .answer(200))
    harness.settle()
    #expect(harness.flying == [1])
    for part in 1...3 { try harness.finish(part: part, .answer(200)) }
    #expect(try harness.row()?.state == .completed)
  }

  @Test("D16: while an origin is out, no part goes there beside the attempt that probes it")
  func probes() throws {
    let harness = try Harness()
    try harness.enqueue("b", key: "other", #"{"url":"http://other.test/","data":1}"#)
    let first = try #require(harness.transport.running.first)
    harness.transport.finish(first.attempt, .failure(.beforeRequest))
    harness.settle()
    harness.pass(3_600_000)
    #expect(origins(harness) == ["http://other.test:80"], "the probe")
    try enqueue(harness, partsTo: ["h", "other"])
    #expect(harness.flying == [0])
    let probe = try #require(harness.transport.running.first { $0.attempt.part == nil })
    harness.transport.finish(probe.attempt, .answer(200))
    harness.settle()
    #expect(harness.flying == [0, 1])
  }

  @Test("D25: ten thousand parts never hold up one comment of another key")
  func otherKey() throws {
    let harness = try Harness()
    try harness.enqueueParts("a", key: "photo", [Int](repeating: 1, count: 10_000))
    try harness.enqueue("c", key: "comment")
    try harness.finish(part: 0, .answer(200))
    #expect(flights(harness) == [1: 2, 2: 1])
  }

  @Test("D4: due to send more, an entry past its deadline does not, and expires when its parts end")
  func deadline() throws {
    let harness = try Harness()
    try harness.subscribe()
    try harness.configure(#"{"concurrency":{"total":2,"reservedHigh":0,"partsPerEntry":3}}"#)
    try harness.enqueueParts("a", many, #""expiresAt":\#(harness.clock.now().wall + 500)"#)
    #expect(harness.flying == [0, 1])
    harness.pass(600)
    #expect(harness.host.settled.isEmpty)
    try harness.finish(part: 0, .answer(200))
    #expect(harness.flying == [1])
    #expect(harness.host.settled.isEmpty)
    try harness.finish(part: 1, .answer(200))
    let outcome = try #require(harness.host.settled.first?.outcome)
    guard case .error(.expired, _, _) = outcome.settlement else { return #expect(Bool(false)) }
    #expect(outcome.bytesSent == 20)
  }

  @Test(
    "A-PROG-01, A-PROG-03: progress is accepted bytes and those in flight, at most the total, in intervals")
  func progress() throws {
    let harness = try Harness()
    try harness.subscribe([.progress, .state])
    try harness.enqueueParts("a", [10, 10, 10, 10])
    var accepted: Int64 = 0
    for part in 0..<4 {
      let attempt = try #require(harness.transport.running.first { $0.attempt.part == part }).attempt
      for bytes in [3, 7, 10] as [Int64] {
        harness.transport.progress(attempt, bytes)
        harness.settle()
        harness.pass(100)
      }
      #expect(try #require(try harness.row()).bytesSent == accepted + 10)
      try harness.finish(part: part, .answer(200))
      accepted += 10
    }
    let told = harness.host.all.compactMap { event -> Int64? in
      guard case .progress(_, let sent, let total) = event else { return nil }
      #expect(total == 40)
      return sent
    }
    #expect(told == told.sorted() && told.last == 40 && told.count <= 8)
  }

  @Test("A-PROG-02, B272: bytes of a failed part go, those of accepted parts never do")
  func failedBytes() throws {
    let harness = try Harness()
    try harness.enqueueParts("a", [10, 10, 10])
    try harness.finish(part: 0, .answer(200))
    let attempt = try #require(harness.transport.running.first { $0.attempt.part == 1 }).attempt
    harness.transport.progress(attempt, 6)
    harness.settle()
    #expect(try harness.row()?.bytesSent == 16)
    try harness.finish(part: 1, .answer(503))
    #expect(try harness.row()?.bytesSent == 10)
    try harness.relaunch()
    #expect(try harness.row()?.bytesSent == 10)
  }
}
