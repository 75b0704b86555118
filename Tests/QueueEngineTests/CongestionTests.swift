import QueueEngine
import QueueModel
import Testing

/// Fairness and congestion against servers of known capacity. Every seed is printed with what failed.
@Suite struct CongestionTests {
  private static let x = Origin(text: "http://x.test:80")
  private static let y = Origin(text: "http://y.test:80")

  /// - Parameter perOrigin: nil adapts.
  private func harness(total: Int, perOrigin: Int? = nil, seed: UInt64 = 1) throws -> Harness {
    let harness = try Harness(seed: seed)
    let fixed = perOrigin.map { #","perOrigin":\#($0)"# } ?? ""
    try harness.configure(
      #"{"concurrency":{"total":\#(total),"reservedHigh":0,"partsPerEntry":1\#(fixed)}}"#)
    return harness
  }

  private func fill(_ harness: Harness, _ count: Int, _ prefix: String, key: String = "k", to host: String)
    throws
  {
    for first in stride(from: 0, to: count, by: 1000) {
      _ = try harness.enqueueAll(
        (first..<min(first + 1000, count)).map { number in
          try Sample.enqueue(
            "\(prefix)\(number)", key: key, #"{"url":"http://\#(host)/","data":\#(number)}"#)
        })
    }
  }

  /// Answers of 200 a second, and refusals, in so many seconds of a queue that never empties.
  private func measured(_ server: SimulatedServers.Server, perOrigin: Int?, seconds: Int64, seed: UInt64)
    throws
    -> (rate: Double, refused: Int, limit: Int)
  {
    let harness = try harness(total: 24, perOrigin: perOrigin, seed: seed)
    let servers = SimulatedServers(harness, seed: seed)
    servers.servers[Self.x] = server
    try harness.pause()
    try fill(harness, Int(seconds) * 10 * server.capacity * 12 / 10 + 100, "e", to: "x.test")
    try harness.resume()
    servers.play(seconds * 1000)
    let limit = try harness.stats().origins.first?.limit ?? 0
    return (
      Double(servers.completed(Self.x)) / Double(seconds), servers.answered[Self.x]?[429] ?? 0, limit
    )
  }

  @Test(
    "D51: a limit that adapts has within 10 % of the throughput of the best fixed one, at any capacity",
    arguments: [(1, 1000), (4, 1000), (16, 1000), (1, 0), (4, 0), (16, 0)])
  func asGoodAsTheBest(_ capacity: Int, _ room: Int) throws {
    let server = SimulatedServers.Server(capacity: capacity, room: room)
    let seed = UInt64(100 + capacity)
    var table = "seed \(seed), capacity \(capacity), room \(room): answers a second\n"
    var best = 0.0
    let seconds: Int64 = capacity > 4 ? 8 : 12
    for fixed in Set([max(1, capacity / 2), capacity, min(24, 2 * capacity)]).sorted() {
      let found = try measured(server, perOrigin: fixed, seconds: seconds, seed: seed)
      table += "  fixed \(fixed): \(found.rate), refused \(found.refused)\n"
      best = max(best, found.rate)
    }
    let adaptive = try measured(server, perOrigin: nil, seconds: seconds, seed: seed)
    table += "  adaptive: \(adaptive.rate), refused \(adaptive.refused), ends at \(adaptive.limit)\n"
    print(table)
    #expect(adaptive.rate >= 0.9 * best, "\(table)")
    // What is refused was for nothing.
    #expect(Double(adaptive.refused) <= 0.1 * adaptive.rate * Double(seconds), "\(table)")
  }

  @Test("D25: ten thousand photos of one key: a comment of another goes out at the next free slot")
  func comment() throws {
    let harness = try Harness()
    let servers = SimulatedServers(harness, seed: 5)
    servers.servers[Self.x] = SimulatedServers.Server(capacity: 3, workMs: 2000)
    try harness.pause()
    try fill(harness, 10_000, "photo", key: "photo", to: "x.test")
    try harness.resume()
    servers.play(1000)
    #expect(harness.transport.running.count == 3)
    try harness.enqueue("comment", key: "comment", #"{"url":"http://x.test/","data":"hi"}"#)
    let before = servers.completed(Self.x)
    let comment: Int64 = 10_001
    servers.play(60_000) { servers.arrivedAt[comment] != nil }
    #expect(servers.arrivedAt[comment] != nil)
    #expect(servers.completed(Self.x) - before == 1)
  }

  @Test(
    "D52: an origin that hangs, fails or refuses does not change the throughput of another",
    arguments: [0, 1, 2])
  func apart(_ trouble: Int) throws {
    let moods: [SimulatedServers.Server.Mood] = [.hangs, .fails, .refuses(seconds: 1)]
    func completed(with other: SimulatedServers.Server.Mood?) throws -> Int {
      // Half a minute of what three slots can do.
      let harness = try Harness(seed: 7)
      let servers = SimulatedServers(harness, seed: 7)
      servers.servers[Self.y] = SimulatedServers.Server(capacity: 8)
      try harness.pause()
      try fill(harness, 1000, "y", to: "y.test")
      if let other {
        servers.servers[Self.x] = SimulatedServers.Server(capacity: 8, mood: other)
        try fill(harness, 100, "x", to: "x.test")
      }
      try harness.resume()
      servers.play(30_000)
      return servers.completed(Self.y)
    }
    let alone = try completed(with: nil)
    let beside = try completed(with: moods[trouble])
    #expect(alone > 850)
    #expect(Double(beside) >= 0.9 * Double(alone), "seed 7: \(beside) beside it, \(alone) alone")
  }

  @Test("D25: a slow origin gathers no more than its share of the slots")
  func share() throws {
    let harness = try Harness(seed: 9)
    let servers = SimulatedServers(harness, seed: 9)
    servers.servers[Self.x] = SimulatedServers.Server(capacity: 100, workMs: 1500)
    servers.servers[Self.y] = SimulatedServers.Server(capacity: 100, workMs: 50)
    try harness.pause()
    for key in 0..<20 { try fill(harness, 20, "x\(key)-", key: "x\(key)", to: "x.test") }
    try fill(harness, 600, "y", to: "y.test")
    try harness.resume()
    servers.play(20_000)
    #expect(servers.peak[Self.x] == 2)
    // One of three slots is its own throughout.
    #expect(servers.completed(Self.y) >= 350, "seed 9: \(servers.completed(Self.y))")
  }

  @Test("D52, A-RETRY-06: an origin that fails is tried by one attempt at a time until one gets through")
  func recovers() throws {
    let harness = try Harness(seed: 11)
    try harness.configure(#"{"retry":{"backoff":{"baseMs":100,"maxMs":200,"jitter":0}}}"#)
    let servers = SimulatedServers(harness, seed: 11)
    servers.servers[Self.x] = SimulatedServers.Server(capacity: 8, mood: .fails)
    try harness.pause()
    try fill(harness, 100, "x", to: "x.test")
    try harness.resume()
    servers.play(60_000)
    let failures = servers.answered[Self.x]?[500] ?? 0
    #expect(failures < 20, "seed 11: \(failures)")
    let standing = try #require(try harness.stats().origins.first)
    #expect(standing.circuit != .closed)
    servers.servers[Self.x]?.mood = .well
    servers.play(60_000) { servers.completed(Self.x) == 100 }
    #expect(servers.completed(Self.x) == 100)
    #expect(try harness.stats().origins.first?.circuit == .closed)
  }

  @Test("D52: explain says that the origin fails and until when, and a retry by hand tries it at once")
  func explained() throws {
    let harness = try Harness(seed: 13)
    try harness.configure(#"{"retry":{"backoff":{"baseMs":600000,"maxMs":600000,"jitter":0}}}"#)
    for id in ["a", "b", "c", "d", "e"] { try harness.enqueue(id) }
    for _ in 0..<5 { try harness.answer(500) }
    try harness.enqueue("f")
    #expect(harness.transport.running.isEmpty)
    let gates = try #require(try harness.call { .explain(EntryID("f"), $0) } as Explanation?).gates
    #expect(gates.map(\.gate) == [.outage])
    let until = try #require(gates.first?.until)
    #expect((800...1200).contains(until - harness.clock.now().wall))
    try harness.retry("a")
    #expect(harness.transport.running.map(\.attempt.entry).count == 1)
    try harness.answer(200)
    #expect(harness.transport.running.count == 1)
  }

  @Test("D52: an origin whose own attempt stands still has another's slot as soon as that is lent")
  func lent() throws {
    let harness = try Harness(seed: 14)
    let (x, y) = (#"{"url":"http://x.test/","data":1}"#, #"{"url":"http://y.test/","data":1}"#)
    try harness.enqueue("x1", x)
    harness.pass(1500)
    for id in ["y1", "y2"] { try harness.enqueue(id, y) }
    harness.pass(1000)
    try harness.enqueue("x2", x)
    #expect(harness.transport.running.count == 3)
    #expect(harness.engine.deadline().steady == harness.clock.now().steady + 1000)
    harness.pass(1000)
    #expect(harness.transport.running.count == 4)
  }

  @Test("D52: a 429 with Retry-After holds back the whole origin, for a minute at most, and no other")
  func retryAfter() throws {
    let harness = try Harness(seed: 15)
    try harness.enqueue("a")
    try harness.answer(429, headers: [("retry-after", "7200")])
    try harness.enqueue("b")
    try harness.enqueue("c", #"{"url":"http://other.test/","data":1}"#)
    #expect(harness.transport.running.map(\.url.origin.text) == ["http://other.test:80"])
    harness.pass(59_000)
    #expect(harness.transport.started.count == 2)
    harness.pass(1001)
    #expect(harness.transport.started.count == 3)
  }

  @Test("D53: the transport hears of a limit at the start, and of each change at once")
  func bandwidth() throws {
    let harness = try Harness()
    try harness.configure(#"{"bandwidth":{"total":1000,"keys":{"k":10}}}"#)
    #expect(harness.transport.bandwidth.total == 1000)
    #expect(harness.transport.bandwidth.keys == [EntryKey("k"): 10])
    harness.transport.limit(Bandwidth())
    try harness.relaunch()
    #expect(harness.transport.bandwidth.total == 1000)
    try harness.configure(#"{"bandwidth":null}"#)
    #expect(harness.transport.bandwidth == Bandwidth())
    try harness.enqueue()
    #expect(harness.transport.started.last?.key == EntryKey("k"))
  }
}
