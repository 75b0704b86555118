import JSONText
import Testing

@testable import Console

@Suite("How fast bytes go, by a clock that the test moves")
struct PaceTests {
  @Test("nothing is said before half a second, then the mean")
  func mean() {
    var pace = Pace()
    #expect(pace.perSecond(at: 0) == nil)
    pace.note(bytes: 1000, at: 0)
    #expect(pace.perSecond(at: 400) == nil)
    pace.note(bytes: 2000, at: 400)
    #expect(pace.perSecond(at: 499) == nil)
    #expect(pace.perSecond(at: 500) == 2000)
    pace.note(bytes: 4000, at: 1000)
    #expect(pace.perSecond(at: 1000) == 3000)
  }

  @Test("what lies longer back than the stretch does not count")
  func stretch() {
    var pace = Pace()
    for second in 0...20 {
      pace.note(bytes: Int64(second < 10 ? second * 100 : 1000 + (second - 10) * 7), at: Int64(second) * 1000)
    }
    #expect(pace.perSecond(at: 20_000) == 7)
  }

  @Test("silence brings it down to nothing, and what comes then begins anew")
  func silence() {
    var pace = Pace()
    pace.note(bytes: 0, at: 0)
    pace.note(bytes: 10_000, at: 1000)
    #expect(pace.perSecond(at: 2000) == 5000)
    #expect(pace.perSecond(at: 5900) ?? 0 < 2000)
    #expect(pace.perSecond(at: 6000) == 0)
    pace.note(bytes: 20_000, at: 60_000)
    #expect(pace.perSecond(at: 60_000) == nil)
    pace.note(bytes: 21_000, at: 61_000)
    #expect(pace.perSecond(at: 61_000) == 1000)
  }

  @Test("a new attempt begins anew")
  func anew() {
    var pace = Pace()
    pace.note(bytes: 0, at: 0)
    pace.note(bytes: 9000, at: 1000)
    pace.note(bytes: 10, at: 1500)
    #expect(pace.perSecond(at: 1600) == nil)
    pace.note(bytes: 1010, at: 2500)
    #expect(pace.perSecond(at: 2500) == 1000)
  }

  @Test("many tellings in a short time say the same as few")
  func many() {
    var pace = Pace()
    for ms in 0...3000 { pace.note(bytes: Int64(ms * 5), at: Int64(ms)) }
    #expect(pace.perSecond(at: 3000) == 5000)
  }

  @Test(
    "the time left",
    arguments: [
      (1000, 100, 10_000), (1, 1000, 1), (0, 5, 0), (10, 0, nil), (10, nil, nil), (Int64.max, 1, nil),
    ] as [(Int64, Int64?, Int64?)])
  func timeLeft(_ bytes: Int64, _ speed: Int64?, _ ms: Int64?) {
    #expect(Pace.timeLeft(bytes, at: speed) == ms)
  }
}

@Suite("What goes out of all entries")
struct TrafficTests {
  @Test("speeds add up, and what had gone before is not counted")
  func sum() {
    var traffic = Traffic()
    for step in 0...10 {
      traffic.note("a", bytes: 50_000 + Int64(step) * 100, at: Int64(step) * 100)
      traffic.note("b", bytes: Int64(step) * 200, at: Int64(step) * 100)
    }
    #expect(traffic.perSecond(of: "a", at: 1000) == 1000)
    #expect(traffic.perSecond(of: "b", at: 1000) == 2000)
    #expect(traffic.perSecond(at: 1000) == 3000)
    #expect(traffic.bytes(of: "a") == 51_000)
  }

  @Test("an end counts what went since the last word, and forgets the entry")
  func end() {
    var traffic = Traffic()
    traffic.note("a", bytes: 0, at: 0)
    traffic.end("a", bytes: 4000, at: 1000)
    #expect(traffic.perSecond(at: 1000) == 4000)
    #expect(traffic.bytes(of: "a") == nil)
    traffic.end("unknown", bytes: 1 << 40, at: 1000)
    #expect(traffic.perSecond(at: 1000) == 4000)
  }

  @Test(
    "states tell of what runs; all of a completed body has gone, of another end no more is known",
    arguments: [("completed", 4000), ("error", 0), ("paused", 0)] as [(String, Int64)])
  func states(_ end: String, _ speed: Int64) throws {
    func state(_ name: String) throws -> JSON {
      try JSON(checking: Array(#"{"id":"a","state":"\#(name)","bytesSent":0,"totalBytes":4000}"#.utf8))
    }
    var traffic = Traffic()
    traffic.heard(state: try state("running"), at: 0)
    #expect(traffic.bytes(of: "a") == 0)
    traffic.heard(state: try state(end), at: 1000)
    #expect(traffic.bytes(of: "a") == nil)
    #expect(traffic.perSecond(at: 1000) ?? 0 == speed)
  }

  @Test("a second attempt does not count backwards")
  func again() {
    var traffic = Traffic()
    traffic.note("a", bytes: 9000, at: 0)
    traffic.note("a", bytes: 0, at: 500)
    traffic.note("a", bytes: 1000, at: 1000)
    #expect(traffic.perSecond(at: 1000) == 1000)
  }

  @Test("however many ids there are, the number of those that are known is bounded")
  func bounded() {
    var traffic = Traffic()
    for number in 0..<(3 * Traffic.most) { traffic.note("id\(number)", bytes: 1, at: Int64(number)) }
    let known = (0..<(3 * Traffic.most)).filter { traffic.bytes(of: "id\($0)") != nil }
    #expect(known.count <= Traffic.most)
  }
}

@Suite("When a screen does what")
struct WatchTimingTests {
  @Test("a queue in a hurry is read ten times a second, a still one once")
  func refresh() {
    var timing = WatchTiming()
    #expect(timing.isRefreshDue(at: 0))
    timing.refreshed(from: 0, to: 1)
    #expect(!timing.isRefreshDue(at: 1000) && timing.isRefreshDue(at: 1001))
    timing.wantsRefresh()
    #expect(!timing.isRefreshDue(at: 100) && timing.isRefreshDue(at: 101))
    timing.wantsRefresh(soon: true)
    #expect(timing.isRefreshDue(at: 2))
  }

  @Test("reading takes a tenth of the time at most")
  func cost() {
    var timing = WatchTiming()
    timing.refreshed(from: 0, to: 400)
    timing.wantsRefresh()
    #expect(!timing.isRefreshDue(at: 4399) && timing.isRefreshDue(at: 4400))
  }

  @Test("a picture comes at once after a key, else ten times a second at most, and not without a change")
  func paint() {
    var timing = WatchTiming()
    #expect(timing.isPaintDue(at: 0))
    timing.painted(at: 0)
    #expect(!timing.isPaintDue(at: 10_000))
    timing.heard()
    #expect(!timing.isPaintDue(at: 99) && timing.isPaintDue(at: 100))
    timing.wantsPaint()
    #expect(timing.isPaintDue(at: 1))
  }

  @Test("waiting ends when the next thing is due")
  func patience() {
    var timing = WatchTiming()
    #expect(timing.patience(at: 0) == 0)
    timing.refreshed(from: 0, to: 0)
    timing.painted(at: 0)
    #expect(timing.patience(at: 0) == WatchTiming.attach)
    #expect(timing.patience(at: 900) == 100)
  }
}
