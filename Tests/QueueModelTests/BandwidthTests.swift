import JSONText
import Testing

@testable import QueueModel

@Suite("Bandwidth")
struct BandwidthTests {
  private func read(_ text: String) throws -> Bandwidth {
    try Bandwidth(reading: JSON(checking: Array(text.utf8)), path: "bandwidth")
  }

  @Test(
    "D53: what configure takes, and what it keeps of it",
    arguments: [
      #"{"keys":{}}"#, #"{"total":5,"keys":{}}"#, #"{"total":5,"keys":{"a":1,"b":9007199254740991}}"#,
    ])
  func reads(_ text: String) throws {
    let bandwidth = try read(text)
    #expect(JSON(writing: { bandwidth.write(into: &$0) }).description == text)
  }

  @Test(
    "D53: what it refuses, by name",
    arguments: [
      (#"{"total":0}"#, "bandwidth.total"), (#"{"total":1.5}"#, "bandwidth.total"),
      (#"{"keys":[]}"#, "bandwidth.keys"), (#"{"keys":{"a":0}}"#, "bandwidth.keys.a"),
      (#"{"keys":{"":1}}"#, #"bandwidth.keys[""]"#), (#"{"perKey":{}}"#, "bandwidth.perKey"),
      (#"{"keys":{"a":5,"a":6}}"#, "bandwidth.keys.a"), ("[]", "bandwidth"),
    ])
  func refuses(_ text: String, _ path: String) {
    let refused = #expect(throws: InvalidInput.self) { try read(text) }
    #expect(refused?.path == path)
  }

  @Test(
    "D53: a bucket lets its rate pass and no more",
    arguments: [1, 7, 1000, 65_536, 2_000_000, 125_000_000, 9_007_199_254_740_991] as [Int64])
  func rate(_ rate: Int64) {
    var bucket = TokenBucket(rate: rate, at: 0)
    var taken = 0.0
    var now: Int64 = 0
    while now < 60_000 {
      now = max(now + 1, bucket.shareAt)
      let filled = bucket.filled(at: now)
      #expect(filled >= bucket.share)
      bucket.take(filled)
      taken += Double(filled)
    }
    let expected = Double(rate) * Double(now) / 1000
    #expect(taken <= expected + Double(bucket.share))
    #expect(taken >= expected * 0.99 - Double(bucket.share))
  }

  @Test("D53: what is not used does not gather for long")
  func depth() {
    var bucket = TokenBucket(rate: 1_000_000, at: 0)
    #expect(bucket.filled(at: 3_600_000) == 100_000)
  }

  /// Bytes that senders got in ten seconds, each asking for more as soon as it got some.
  private func split(
    _ senders: [(name: String, key: String)], _ limits: [(at: Int64, Bandwidth)]
  ) -> [String: Int64] {
    var shares = BandwidthShares<String>()
    var limits = limits[...]
    var got: [String: Int64] = [:]
    let keys = Dictionary(uniqueKeysWithValues: senders.map { ($0.name, EntryKey($0.key)) })
    for (name, key) in senders { shares.wait(name, EntryKey(key), wants: 16_384) }
    for now in 0..<10_000 as Range<Int64> {
      if let next = limits.first, next.at == now { shares.configure(limits.removeFirst().1, at: now) }
      guard let nextAt = shares.nextAt, nextAt <= now else { continue }
      for (sender, bytes) in shares.grants(at: now) {
        got[sender, default: 0] += bytes
        shares.wait(sender, keys[sender], wants: 16_384)
      }
    }
    return got
  }

  private func expectNear(_ bytes: Int64?, _ expected: Int64) {
    let bytes = bytes ?? 0
    #expect(bytes > expected * 95 / 100 && bytes < expected * 105 / 100, "\(bytes) of \(expected)")
  }

  @Test("D53: those that wait for one limit have equal shares of it")
  func equal() throws {
    let got = split(
      [("a", "k"), ("b", "k"), ("c", "m"), ("d", "m")], [(0, try read(#"{"total":1000000}"#))])
    for name in ["a", "b", "c", "d"] { expectNear(got[name], 2_500_000) }
  }

  @Test("D53: a slow key leaves what it cannot have to the others, and holds none of them up")
  func slowKey() throws {
    let got = split(
      [("a", "slow"), ("b", "slow"), ("c", "m")],
      [(0, try read(#"{"total":1000000,"keys":{"slow":100000}}"#))])
    expectNear(got["a"], 500_000)
    expectNear(got["b"], 500_000)
    expectNear(got["c"], 9_000_000)
  }

  @Test("D53: limits may change while senders wait, and may go")
  func live() throws {
    var got = split(
      [("a", "k")], [(0, try read(#"{"total":100000}"#)), (5000, try read(#"{"total":1000000}"#))])
    expectNear(got["a"], 5_500_000)
    got = split([("a", "k")], [(0, try read(#"{"total":1}"#)), (9999, Bandwidth())])
    #expect((got["a"] ?? 0) > 16_384 - 10)
  }

  @Test("D53: whoever leaves gets nothing, and nobody waits for it")
  func leaves() throws {
    var shares = BandwidthShares<String>()
    shares.configure(try read(#"{"total":1000}"#), at: 0)
    shares.wait("a", nil, wants: 100)
    shares.leave("a")
    #expect(shares.isIdle)
    #expect(shares.grants(at: 1000).isEmpty)
    #expect(shares.nextAt == nil)
  }
}
