import Testing

@testable import QueueModel

@Suite("The limit that adapts to a server")
struct AdaptiveLimitTests {
  /// A server in front of which the limit is always used up; every answer takes its time.
  private func played(
    _ limit: AdaptiveLimit = AdaptiveLimit(), answers: Int, most: Int = 64,
    afterMs: (_ running: Int) -> Int64?
  ) -> AdaptiveLimit {
    var limit = limit
    var flights: [AdaptiveLimit.Stamp] = []
    for _ in 0..<answers {
      while flights.count < min(limit.current, most) {
        flights.append(limit.began(running: flights.count + 1))
      }
      let time = afterMs(flights.count)
      limit.answered(flights.removeFirst(), afterMs: time, most: most)
    }
    return limit
  }

  @Test("D51: it begins with four, and grows to the most there may be while answers are as fast as ever")
  func grows() {
    #expect(AdaptiveLimit().current == 4)
    #expect(played(answers: 200) { _ in 40 }.current == 64)
    #expect(played(answers: 200, most: 6) { _ in 40 }.current == 6)
  }

  @Test("D51: it does not grow while fewer run than may")
  func unused() {
    var limit = AdaptiveLimit()
    for _ in 0..<500 { limit.answered(limit.began(running: 2), afterMs: 40, most: 64) }
    #expect(limit.current == 4)
  }

  @Test("D51: a refusal takes a part of what was at once, and those that began before it count no more")
  func refused() {
    var limit = played(answers: 200) { _ in 40 }
    let stamps = (1...40).map { limit.began(running: $0) }
    limit.refused(stamps[39])
    #expect(limit.current == 34)
    for stamp in stamps { limit.refused(stamp) }
    #expect(limit.current == 34)
    limit.refused(limit.began(running: 34))
    #expect(limit.current == 28)
    for _ in 0..<30 { limit.refused(limit.began(running: limit.current)) }
    #expect(limit.current == 1)
  }

  @Test("D51: one that is refused alone is not refused for their number")
  func alone() {
    var limit = AdaptiveLimit()
    for _ in 0..<20 { limit.refused(limit.began(running: 1)) }
    #expect(limit.current == 4)
  }

  @Test("D51: a number that was refused is tried again later and later")
  func triedAgain() {
    var limit = AdaptiveLimit()
    var refusals: [Int] = []
    var flights: [AdaptiveLimit.Stamp] = []
    for answer in 0..<5000 {
      while flights.count < limit.current {
        let stamp = limit.began(running: flights.count + 1)
        guard flights.count == 8 else {
          flights.append(stamp)
          continue
        }
        limit.refused(stamp)
        refusals.append(answer)
      }
      limit.answered(flights.removeFirst(), afterMs: 40, most: 64)
    }
    let gaps = zip(refusals, refusals.dropFirst()).map { $1 - $0 }
    #expect(gaps.count >= 4)
    #expect(gaps == gaps.sorted(), "\(gaps)")
    #expect(refusals.count < 16)
  }

  @Test("D51: answers that become slower with their number at once lead to fewer of them, not below two")
  func slower() {
    let pressed = played(answers: 4000) { Int64($0) * 100 }
    #expect((2...6).contains(pressed.current), "\(pressed.current)")
  }

  @Test("D51: answers that are slow however few there are at once lead to a trial and no further")
  func slowAnyway() {
    let fast = played(answers: 300, most: 16) { _ in 40 }
    #expect(fast.current == 16)
    let slow = played(fast, answers: 600, most: 16) { _ in 900 }
    #expect(slow.current == 16)
  }

  @Test("D51: a rise of less than 50 ms is none: clocks see no finer")
  func small() {
    let fast = played(answers: 300, most: 16) { _ in 2 }
    #expect(played(fast, answers: 600, most: 16) { Int64($0) * 3 }.current == 16)
  }

  @Test("D51: answers whose time is not known let it grow, and never shrink")
  func untimed() {
    #expect(played(answers: 300, most: 16) { _ in nil }.current == 16)
  }

  @Test("D51: after the server was away it begins with one, and doubles")
  func restarted() {
    var limit = played(answers: 200) { _ in 40 }
    let late = limit.began(running: 40)
    limit.restart()
    #expect(limit.current == 1)
    limit.refused(late)
    #expect(limit.current == 1)
    limit.answered(limit.began(running: 1), afterMs: 40, most: 64)
    #expect(limit.current == 2)
    #expect(played(limit, answers: 200) { _ in 40 }.current == 64)
  }
}
