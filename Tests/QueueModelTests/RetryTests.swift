import Testing

@testable import QueueModel

@Suite("Waits")
struct BackoffTests {
  @Test("D15, B168: doubles from the base up to the cap")
  func doubling() {
    let backoff = Backoff(baseMs: 1000, maxMs: 7_200_000, jitter: 0)
    let waits = (1...15).map { backoff.wait(afterFailures: $0, fraction: 0.5) }
    #expect(
      waits == [
        1000, 2000, 4000, 8000, 16_000, 32_000, 64_000, 128_000, 256_000, 512_000, 1_024_000, 2_048_000,
        4_096_000,
        7_200_000, 7_200_000,
      ])
  }

  @Test(
    "D15, B168: jitter moves a wait by its share either way",
    arguments: [(0.0, 800), (0.5, 1000), (0.75, 1100)])
  func jitter(fraction: Double, wait: Int64) {
    #expect(Backoff().wait(afterFailures: 1, fraction: fraction) == wait)
  }

  @Test("D15, B169: no wait exceeds the cap, and jitter below it stays")
  func cap() {
    #expect(Backoff().wait(afterFailures: 20, fraction: 0.999) == 7_200_000)
    #expect(Backoff().wait(afterFailures: 20, fraction: 0) == 5_760_000)
  }

  @Test("A-RETRY-03, D15: no number of failures and no setting overflows")
  func overflow() {
    for backoff in [
      Backoff(), Backoff(baseMs: 1, maxMs: 1, jitter: 1),
      Backoff(baseMs: 9_007_199_254_740_991, maxMs: 9_007_199_254_740_991, jitter: 1),
      Backoff(baseMs: 1, maxMs: 9_007_199_254_740_991, jitter: 0.2),
    ] {
      for n in [Int64.min, -1, 0, 1, 2, 53, 62, 63, 64, 65, 200, .max] {
        for fraction in [0, 0.5, 0.999_999_999] {
          let wait = backoff.wait(afterFailures: n, fraction: fraction)
          #expect((1...backoff.maxMs).contains(wait))
        }
      }
    }
  }

  @Test("B168: fewer than one failure counts as one")
  func clamped() {
    #expect(Backoff().wait(afterFailures: 0, fraction: 0.5) == 1000)
  }
}

@Suite("Retry-After")
struct RetryAfterTests {
  /// Sun, 06 Nov 1994 08:49:37 GMT
  private static let date: Int64 = 784_111_777_000

  @Test(
    "D14: seconds",
    arguments: [
      ("2", 2000), (" 2 ", 2000), ("\t2", 2000), ("0002", 2000), ("86400", 86_400_000),
      ("99999999999999999999", 9_007_199_254_740_000),
    ] as [(String, Int64)])
  func seconds(value: String, wait: Int64) {
    #expect(RetryAfter.milliseconds(value, now: 0) == wait)
  }

  @Test(
    "D14: all three forms of a date (RFC 9110, 5.6.7)",
    arguments: [
      "Sun, 06 Nov 1994 08:49:37 GMT", "Sunday, 06-Nov-94 08:49:37 GMT", "Sun Nov  6 08:49:37 1994",
    ])
  func dates(value: String) {
    #expect(RetryAfter.milliseconds(value, now: Self.date - 3000) == 3000)
  }

  @Test("D14: days around leap days and the ends of months and years")
  func calendar() {
    for (value, milliseconds) in [
      ("Thu, 01 Jan 1970 00:00:01 GMT", 1000), ("Tue, 29 Feb 2000 00:00:00 GMT", 951_782_400_000),
      ("Wed, 01 Mar 2000 00:00:00 GMT", 951_868_800_000), ("Fri, 31 Dec 1999 23:59:60 GMT", 946_684_800_000),
      ("Mon, 01 Mar 2100 00:00:00 GMT", 4_107_542_400_000), ("Sun Nov 16 08:49:37 2025", 1_763_282_977_000),
    ] as [(String, Int64)] {
      #expect(HTTPDate.milliseconds(Array(value.utf8), now: 0) == milliseconds, "\(value)")
    }
  }

  @Test("RFC 9110, 5.6.7: a two-digit year more than 50 years ahead is past")
  func century() {
    let now: Int64 = 1_764_500_000_000  // 2025
    #expect(
      HTTPDate.milliseconds(Array("Sunday, 01-Jan-75 00:00:00 GMT".utf8), now: now) == 3_313_526_400_000)
    #expect(HTTPDate.milliseconds(Array("Sunday, 01-Jan-76 00:00:00 GMT".utf8), now: now) == 189_302_400_000)
  }

  @Test(
    "A-RETRY-02, D14: past, negative and unreadable values count as absent",
    arguments: [
      "", " ", "0", "-1", "+1", "1.5", "1s", "2, 5", "soon", "Wed, 21 Oct 2015 07:28:00 GMT",
      "Sun, 06 Nov 2094 08:49:37 UTC", "Sun, 06 Nov 2094 08:49:37", "Xyz, 06 Nov 2094 08:49:37 GMT",
      "Sun, 31 Feb 2094 08:49:37 GMT", "Sun, 00 Nov 2094 08:49:37 GMT", "Sun, 06 Nov 2094 24:00:00 GMT",
      "Sun, 06 Nov 2094 08:60:00 GMT", "Sun, 06 Nov 2094 08:49:61 GMT", "Sun, 6 Nov 2094 08:49:37 GMT",
      "Sun, 06 nov 2094 08:49:37 GMT", "Sun, 06 Nov 94 08:49:37 GMT", "Sun, 06-Nov-94 08:49:37 GMT",
      "Sun, 29 Feb 2100 08:49:37 GMT", "Sunday, 06-Nov-94-1 08:49:37 GMT", "2094-11-06T08:49:37Z",
    ])
  func absent(value: String) {
    #expect(RetryAfter.milliseconds(value, now: 1_764_500_000_000) == nil)
  }
}

@Suite("Retry policy")
struct RetryPolicyTests {
  @Test("B171, B128: a layer replaces each field that it names, as a whole")
  func layering() throws {
    var base = RetryPolicy()
    base.backoff = Backoff(baseMs: 5, maxMs: 6, jitter: 0)
    base.transient = [TransientRule(status: 422)]
    #expect(base.overlaid(with: nil) == base)
    #expect(base.overlaid(with: try RetryLayer(reading: json("{}"), path: "r")) == base)
    let layer = try RetryLayer(
      reading: json(#"{"terminalHttp":{"exempt":[]},"transient":[{"status":423}]}"#), path: "r")
    let policy = base.overlaid(with: layer)
    #expect(policy.backoff == base.backoff)
    #expect(policy.exempt.isEmpty)
    #expect(policy.transient == [TransientRule(status: 423)])
  }

  @Test("D22: a descriptor's time-outs go over those of configure one by one")
  func timeouts() throws {
    let layer = try TimeoutLayer(reading: json(#"{"stallMs":7}"#), path: "t")
    let timeouts = Timeouts().overlaid(with: layer)
    #expect(timeouts.stallMs == 7)
    #expect(timeouts.connectMs == 30_000)
    #expect(Timeouts().overlaid(with: nil) == Timeouts())
  }
}
