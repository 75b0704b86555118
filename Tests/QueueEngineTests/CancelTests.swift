import JSONText
import QueueEngine
import QueueModel
import QueueStore
import Testing

@Suite struct CancelTests {
  enum Live: String, CaseIterable, Sendable {
    case queued, backoff, running, parked, paused
  }

  private func bring(_ harness: Harness, to live: Live) throws {
    switch live {
    case .queued:
      for number in 0..<3 { try harness.enqueue("other\(number)") }
      try harness.enqueue()
    case .backoff:
      try harness.enqueue()
      try harness.answer(503)
    case .running: try harness.enqueue()
    case .parked:
      try harness.enqueue()
      try harness.answer(401)
    case .paused:
      try harness.enqueue()
      try harness.pause()
    }
  }

  @Test(
    "B229: cancel of a live entry: one outcome, no attempt, the body goes, ack forgets",
    arguments: Live.allCases)
  func live(_ live: Live) throws {
    let harness = try Harness()
    try bring(harness, to: live)
    try harness.subscribe()
    harness.host.clear()
    let running = harness.transport.running.map(\.attempt)
    try harness.cancel()
    let names = harness.host.names.filter { !$0.hasPrefix("progress") }
    #expect(names == ["state a cancelled", "settled a cancelled"])
    #expect(try harness.state() == .cancelled)
    if live == .running { #expect(harness.transport.stopped == running) }
    try harness.cancel()
    harness.pass(100_000)
    #expect(harness.host.settled.count == 1)
    #expect(try harness.row() == nil)
  }

  @Test("B229: the acknowledgement of a cancel forgets the row; its body file is gone before")
  func acknowledged() throws {
    let harness = try Harness()
    try harness.subscribe()
    try harness.enqueue(
      "a", Sample.file(try harness.source("big", String(repeating: "x", count: 100_000))))
    #expect(try harness.bodyFiles().count == 1)
    try harness.cancel()
    #expect(try harness.bodyFiles().isEmpty)
    try harness.acknowledge(harness.host.eventIDs)
    #expect(try harness.rows().isEmpty)
  }

  @Test("B230: cancel of a settled entry forgets it with all its outcomes, no event", arguments: [200, 400])
  func settled(status: Int) throws {
    let harness = try Harness()
    try harness.enqueue("other")
    try harness.answer(200)
    try harness.enqueue()
    try harness.answer(400)
    try harness.enqueue()
    try harness.answer(status)
    try harness.subscribe()
    harness.host.clear()
    try harness.cancel()
    #expect(harness.host.names.isEmpty)
    #expect(try harness.rows().map(\.id.text) == ["other"])
    #expect(try harness.stats().unacknowledged == 1)
    try harness.relaunch()
    try harness.subscribe()
    #expect(harness.host.settled.map(\.outcome.id.text) == ["other"])
  }

  @Test("B231, B302: cancel of an unknown id resolves and does nothing")
  func unknown() throws {
    let harness = try Harness()
    // The first request is followed by the record of the start.
    try harness.cancel("nobody")
    let turn = harness.store.turn
    try harness.cancel("nobody")
    #expect(harness.store.turn == turn)
  }

  @Test("A-QUEUE-05: cancel of one leaves the others running")
  func oneOfMany() throws {
    let harness = try Harness()
    for id in ["a", "b", "c"] { try harness.enqueue(id) }
    let second = try harness.attempt(index: 1)
    try harness.cancel("b")
    #expect(harness.transport.stopped == [second])
    #expect(harness.transport.running.count == 2)
  }

  @Test(
    "A-QUEUE-06: cancel and the answer in one turn, in either order: one outcome", arguments: [true, false])
  func race(cancelFirst: Bool) throws {
    let harness = try Harness()
    try harness.subscribe()
    try harness.enqueue()
    let cancel = Command.cancel(EntryID("a")) { _ in }
    let report = Command.report(try harness.attempt(), .finished(.answer(200)))
    harness.send(cancelFirst ? [cancel, report] : [report, cancel])
    #expect(harness.host.settled.count <= 1)
    if cancelFirst { #expect(harness.host.settled.map(\.outcome.settlement.kind) == [.cancelled]) }
    try harness.acknowledge(harness.host.eventIDs)
    #expect(try harness.rows().isEmpty)
  }

  // MARK: Stats and diagnostics

  @Test("Section 2: stats count entries by derived state, and attempts")
  func stats() throws {
    let harness = try Harness()
    try harness.enqueue("done")
    try harness.answer(200)
    try harness.enqueue("failed")
    try harness.answer(400)
    try harness.enqueue("parked")
    try harness.answer(401)
    try harness.enqueue("waits")
    try harness.answer(503)
    try harness.enqueue("cancelled")
    try harness.cancel("cancelled")
    try harness.pause("held")
    try harness.enqueue("held", key: "held")
    try harness.enqueue("runs")
    let stats = try harness.stats()
    for (state, count) in [
      (Row.State.completed, 1), (.error, 1), (.awaitingAuth, 1), (.queued, 1), (.cancelled, 1), (.paused, 1),
      (.running, 1),
    ] { #expect(stats.entries[state] ?? 0 == Int64(count), "\(state)") }
    #expect(stats.unacknowledged == 3)
    #expect(stats.attemptsStarted == 6)
    #expect(stats.attemptsCompleted == 1)
    #expect(stats.attemptsFailed == 3)
    #expect(stats.commits > 0)
    for state in Row.State.allCases {
      #expect(try harness.rows(RowQuery(state: state)).count == Int(stats.entries[state] ?? 0))
    }
  }

  @Test("Section 2: takeDiagnostics gives one boot record with the counts, and clears it")
  func diagnostics() throws {
    let harness = try Harness()
    try harness.enqueue()
    try harness.relaunch()
    let records: [Diagnostic] = try harness.call { .diagnostics($0) }
    #expect(records.map(\.message) == ["boot sweep"])
    #expect(records.first?.figures?.description.contains(#""running":1"#) == true)
    let again: [Diagnostic] = try harness.call { .diagnostics($0) }
    #expect(again.isEmpty)
  }

  @Test(
    "Section 2: pages hold every row once, whatever the limit and the filter", arguments: [1, 7, 256, 1000])
  func pages(limit: Int) throws {
    let harness = try Harness()
    try harness.pause()
    for number in 0..<300 { try harness.enqueue("e\(number)", key: number % 3 == 0 ? "l" : "k") }
    for key in [nil, EntryKey("l")] {
      var seen: [String] = []
      var after: Int64 = 0
      while true {
        let query = RowQuery(key: key, state: .paused, limit: limit, after: after)
        let page: RowPage = try harness.call { .rows(query, $0) }
        #expect(page.rows.count <= limit && !page.rows.isEmpty)
        seen += page.rows.map(\.id.text)
        guard let next = page.next else { break }
        after = next
      }
      #expect(seen == (0..<300).filter { key == nil || $0 % 3 == 0 }.map { "e\($0)" })
    }
  }
}
