import JSONText
import Testing

@testable import QueueModel

@Suite("Rows")
struct RowTests {
  private func text(_ entry: Entry, _ gates: Gates = Gates(), _ now: Moment = .start) -> String {
    JSON { Row(entry, gates: gates, now: now).write(into: &$0) }.description
  }

  private func entry(_ state: Entry.State) throws -> Entry {
    var entry = try Entry.sample()
    entry.vars = try json(#"{ "n":null,"b":1.0,"a":"\#u{2028}" }"#)
    entry.state = state
    return entry
  }

  @Test("B158: a row, without nextAttemptAt unless it waits out a backoff; vars as stored")
  func shape() throws {
    #expect(
      try text(entry(.queued(.init(due: 2_000_000))))
        == #"{"id":"e","key":"k","vars":{ "n":null,"b":1.0,"a":"\u2028" },"state":"queued","bytesSent":0,"#
        + #""totalBytes":7,"attempts":0,"updatedAt":1764500000000}"#)
  }

  @Test("D2: an entry in backoff is queued with nextAttemptAt, by the wall clock")
  func backoff() throws {
    let waiting = try entry(.queued(.init(due: Moment.start.steady + 5000, isBackoff: true)))
    #expect(text(waiting).hasSuffix(#""nextAttemptAt":1764500005000}"#))
    #expect(text(waiting).contains(#""state":"queued""#))
    #expect(!text(waiting, Gates(), Moment.start.after(5000)).contains("nextAttemptAt"))
  }

  @Test("D1: nextAttemptAt is not shown while paused")
  func paused() throws {
    var gates = Gates()
    gates.paused = true
    let waiting = try entry(.queued(.init(due: Moment.start.steady + 5000, isBackoff: true)))
    #expect(text(waiting, gates).contains(#""state":"paused""#))
    #expect(!text(waiting, gates).contains("nextAttemptAt"))
  }

  @Test("B170, A-RETRY-02: nextAttemptAt is not behind the deadline")
  func deadline() throws {
    var waiting = try entry(.queued(.init(due: Moment.start.steady + 5000, isBackoff: true)))
    waiting.expiresAt = Moment.start.wall + 3000
    #expect(Row(waiting, gates: Gates(), now: .start).nextAttemptAt == waiting.expiresAt)
  }

  @Test("D16: nextAttemptAt follows the end of an outage")
  func outage() throws {
    var gates = Gates()
    gates.outages[Origin(text: "https://h.test:443")] = Outage(
      number: 1, since: 0, endedAt: Moment.start.steady - 500)
    let waiting = try entry(
      .queued(.init(due: Moment.start.steady + 50_000, isBackoff: true, outage: 1, spread: 0.5)))
    #expect(Row(waiting, gates: gates, now: .start).nextAttemptAt == Moment.start.wall + 500)
  }

  @Test("D1: the wire names of the states")
  func states() {
    #expect(
      Row.State.allCases.map(\.rawValue)
        == ["queued", "running", "awaiting-auth", "paused", "completed", "error", "cancelled"])
  }

  @Test("protocol 2: the size of a row is near that of its text")
  func size() throws {
    var large = try entry(.queued(.init(due: 0)))
    large.vars = try json("[\"\(String(repeating: "x", count: 5000))\"]")
    let written = text(large).utf8.count
    #expect(abs(Row(large, gates: Gates(), now: .start).size - written) < 200)
  }
}
