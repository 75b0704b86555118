import QueueEngine
import QueueModel
import Testing

@Suite struct OutageTests {
  /// An outage of h.test in which a, b and c failed before they were sent and d after; waits are ten minutes.
  private func harnessInOutage() throws -> Harness {
    let harness = try Harness()
    try harness.configure(
      #"{"retry":{"backoff":{"baseMs":600000,"maxMs":7200000,"jitter":0}}}"#)
    try harness.enqueue("d")
    try harness.finish(.failure(.afterRequestBegan))
    harness.pass(1000)
    for id in ["a", "b", "c"] { try harness.enqueue(id) }
    for _ in 0..<3 { try harness.finish(.failure(.beforeRequest)) }
    #expect(harness.transport.started.count == 4)
    return harness
  }

  private func numbers(_ harness: Harness, from index: Int) -> [Int64] {
    harness.transport.started[index...].map(\.attempt.entry)
  }

  @Test("D16, D43: while it lasts one attempt at a time probes, also an entry that never failed")
  func probesAlone() throws {
    let harness = try harnessInOutage()
    try harness.enqueue("e")
    try harness.enqueue("f")
    #expect(numbers(harness, from: 4) == [5])
    try harness.finish(.failure(.beforeRequest))
    #expect(numbers(harness, from: 4) == [5, 6])
    try harness.enqueue("g", #"{"url":"http://other.test/","data":1}"#)
    #expect(harness.transport.running.count == 2)
  }

  @Test("D16: its end wakes those that failed before they were sent, once, spread; the others wait on")
  func wakes() throws {
    let harness = try harnessInOutage()
    try harness.enqueue("e")
    try harness.answer(200)
    #expect(harness.transport.started.count == 5)
    let wait = try #require(try harness.row("a")?.nextAttemptAt) - harness.clock.now().wall
    #expect((0...2000).contains(wait))
    harness.pass(2001)
    #expect(Set(numbers(harness, from: 5)) == [2, 3, 4])
    for _ in 0..<3 { try harness.finish(.failure(.afterRequestBegan)) }
    try harness.enqueue("f")
    try harness.answer(200)
    harness.pass(500_000)
    #expect(harness.transport.started.count == 9)
    harness.pass(700_000)
    #expect(Set(numbers(harness, from: 9)) == [1, 2, 3])
  }

  @Test("D16: the wakes are spread and not at one moment")
  func spread() throws {
    let harness = try Harness()
    try harness.configure(
      """
      {"retry":{"backoff":{"baseMs":600000,"maxMs":7200000,"jitter":0}},
      "concurrency":{"total":40,"reservedHigh":0,"partsPerEntry":1,"perOrigin":40}}
      """)
    harness.pass(1000)
    for number in 0..<40 { try harness.enqueue("e\(number)") }
    for _ in 0..<40 { try harness.finish(.failure(.beforeRequest)) }
    try harness.enqueue("probe")
    try harness.answer(200)
    var awake: [Int] = []
    for _ in 0..<10 {
      harness.pass(200)
      awake.append(harness.transport.running.count)
    }
    harness.pass(1)
    #expect(harness.transport.running.count == 40)
    #expect(Set(awake).count >= 8)
  }

  @Test("D16: the start of the process ends no outage, and its end is still told from before")
  func overRelaunch() throws {
    let harness = try harnessInOutage()
    try harness.relaunch()
    harness.pass(5000)
    #expect(harness.transport.started.count == 4)
    try harness.enqueue("e")
    try harness.enqueue("f")
    #expect(harness.transport.running.count == 1)
    try harness.answer(200)
    try harness.answer(200)
    harness.pass(2001)
    #expect(Set(numbers(harness, from: 5)) == [6, 2, 3, 4])
  }

  @Test("D16: none begins when an attempt started since has reached the origin")
  func reachedSince() throws {
    let harness = try Harness()
    try harness.enqueue("a")
    harness.pass(1000)
    try harness.enqueue("b")
    try harness.finish(.answer(200), index: 1)
    try harness.finish(.failure(.beforeRequest))
    try harness.enqueue("c")
    try harness.enqueue("d")
    #expect(harness.transport.running.count == 2)
  }

  @Test("D16: a body that cannot be read ends no outage")
  func bodyFailure() throws {
    let harness = try harnessInOutage()
    try harness.enqueue("e")
    try harness.finish(.failure(.bodyMissing))
    harness.pass(5000)
    #expect(harness.transport.started.count == 5)
  }

  @Test("A-QUEUE-04: resumed while the server is away, it is queued and goes out when due")
  func resumedMeanwhile() throws {
    let harness = try Harness()
    try harness.pause()
    try harness.enqueue()
    try harness.resume()
    for _ in 0..<3 {
      try harness.finish(.failure(.beforeRequest))
      #expect(try harness.state() == .queued)
      harness.pass(10_000)
    }
    try harness.answer(200)
    #expect(try harness.state() == .completed)
  }
}
