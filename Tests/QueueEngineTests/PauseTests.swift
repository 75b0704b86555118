import QueueEngine
import QueueModel
import QueueStore
import Testing

@Suite struct PauseTests {
  private func fill(_ harness: Harness, _ count: Int, key: String = "k") throws {
    var commands: [Command] = []
    for number in 0..<count {
      commands.append(
        .enqueue(try Sample.enqueue("\(key)\(number)", key: key), from: harness.hostID) { _ in })
    }
    for start in stride(from: 0, to: count, by: 500) {
      harness.send(Array(commands[start..<min(start + 500, count)]))
    }
  }

  @Test(
    "A-QUEUE-02, D1: a pause stops what runs and tells each entry once, over more than one step of a walk")
  func tellsOnce() throws {
    let harness = try Harness()
    try fill(harness, 600)
    try harness.subscribe()
    try harness.pause()
    #expect(harness.transport.running.isEmpty)
    #expect(harness.host.states.count == 600)
    #expect(Set(harness.host.states.map(\.id)).count == 600)
    #expect(harness.host.states.allSatisfy { $0.state == .paused })
    #expect(harness.host.attempts.isEmpty && harness.host.settled.isEmpty)
    harness.host.clear()
    try harness.resume()
    #expect(harness.transport.running.count == 3)
    let last = Dictionary(harness.host.states.map { ($0.id, $0.state) }) { $1 }
    #expect(last.count == 600)
    #expect(last.values.count { $0 == .running } == 3)
    #expect(last.values.count { $0 == .queued } == 597)
  }

  @Test("B238: no outcome and no attempt comes of a pause, and resume is a new attempt")
  func stops() throws {
    let harness = try Harness()
    try harness.subscribe()
    try harness.enqueue()
    harness.host.clear()
    try harness.pause()
    #expect(harness.host.names == ["state a paused"])
    harness.pass(100_000)
    #expect(harness.transport.started.count == 1)
    try harness.resume()
    #expect(try harness.row()?.attempts == 2)
  }

  @Test("B242: the pause of a key hits live and future entries of it alone, one event each")
  func ofKey() throws {
    let harness = try Harness()
    try harness.enqueue("e", key: "k")
    try harness.answer(400)
    try harness.enqueue("a", key: "k")
    try harness.enqueue("b", key: "l")
    try harness.subscribe()
    harness.host.clear()
    try harness.pause("k")
    #expect(harness.host.names == ["state a paused"])
    try harness.enqueue("c", key: "k")
    #expect(try harness.state("c") == .paused)
    #expect(try harness.state("b") == .running)
    #expect(try harness.state("e") == .error)
  }

  @Test("B243: a key resumed under the whole queue's pause stays paused; a resume of all keeps paused keys")
  func bothScopes() throws {
    let harness = try Harness()
    try harness.enqueue()
    try harness.subscribe()
    try harness.pause("k")
    harness.host.clear()
    try harness.pause()
    try harness.resume("k")
    #expect(try harness.state() == .paused)
    try harness.pause("k")
    try harness.resume()
    #expect(try harness.state() == .paused)
    #expect(harness.host.names.isEmpty)
    try harness.resume("k")
    #expect(try harness.state() == .running)
  }

  @Test(
    "B244, B245, A-QUEUE-03: a pause twice, a resume twice or an empty list of keys tells and starts nothing")
  func nothingToDo() throws {
    let harness = try Harness()
    try harness.subscribe()
    try harness.enqueue()
    try harness.call { .pause(PauseScope(), $0) }
    #expect(harness.transport.running.count == 1)
    try harness.pause()
    harness.host.clear()
    try harness.pause()
    #expect(harness.host.names.isEmpty)
    harness.send(.resume(nil) { _ in }, .resume(nil) { _ in }, .setWifiOnly(false) { _ in })
    #expect(harness.transport.started.count == 2)
  }

  @Test("B239: pauses last over a relaunch, on the right entries")
  func overRelaunch() throws {
    let harness = try Harness()
    try harness.enqueue("a", key: "k")
    try harness.enqueue("b", key: "l")
    try harness.pause("k")
    try harness.relaunch()
    #expect(try harness.state("a") == .paused)
    #expect(try harness.state("b") == .running)
    try harness.pause()
    try harness.relaunch()
    #expect(harness.transport.running.isEmpty)
    #expect(try harness.state("b") == .paused)
  }

  @Test("D1: a pause, a resume and new headers write no number of rows that grows with the queue")
  func writesFewRows() throws {
    let harness = try Harness()
    try harness.pause()
    try fill(harness, 10_000)
    try harness.subscribe([.state])
    let before = harness.store.turn
    try harness.resume()
    try harness.pause()
    try harness.patch(#"{"A":"b"}"#)
    try harness.pause("k")
    let rows = try harness.store.reader.entries(after: 0, limit: 20_000)
    #expect(rows.count == 10_000)
    #expect(rows.count { $0.turn > before } == 3)
    #expect(harness.store.turn - before < 16)
    let last = Dictionary(harness.host.states.map { ($0.id, $0.state) }) { $1 }
    #expect(last.count == 10_000 && last.values.allSatisfy { $0 == .paused })
  }

  // MARK: Slow readers

  @Test(
    "Section 3, D1: the walk waits for a reader that is behind, and tells what changed meanwhile as it is")
  func slowReader() throws {
    let harness = try Harness()
    try harness.pause()
    try fill(harness, 600)
    try harness.subscribe()
    harness.host.setBehind(true)
    harness.host.clear()
    try harness.pause("l")
    try harness.resume()
    let early = harness.host.states.count
    #expect(early < 10)
    try harness.cancel("k500")
    try harness.enqueue("new")
    try harness.pause("k")
    harness.host.setBehind(false)
    harness.send(.caughtUp(harness.hostID))
    let last = Dictionary(harness.host.states.map { ($0.id, $0.state) }) { $1 }
    let rows = try harness.rows()
    for row in rows where last[row.id] != nil { #expect(last[row.id] == row.state) }
    #expect(last[EntryID("k500")] == .cancelled && last[EntryID("new")] == .paused)
    for (id, states) in Dictionary(grouping: harness.host.states, by: \.id) {
      #expect(zip(states, states.dropFirst()).allSatisfy { $0.state != $1.state }, "\(id)")
    }
  }

  @Test("Section 3: a reader that is behind for too many changes gets one resync")
  func resync() throws {
    let harness = try Harness()
    try harness.pause()
    try fill(harness, 20)
    try harness.subscribe()
    harness.host.setBehind(true)
    harness.host.clear()
    for _ in 0..<15 {
      try harness.pause("k")
      try harness.resume("k")
    }
    harness.host.setBehind(false)
    harness.send(.caughtUp(harness.hostID))
    #expect(harness.host.names.count { $0 == "resync" } >= 1)
    try harness.resume()
    let last = Dictionary(harness.host.states.map { ($0.id, $0.state) }) { $1 }
    for row in try harness.rows() { #expect(last[row.id] == row.state) }
  }

  @Test("Section 1: on one connection a row is never older than an earlier row of its id")
  func rowsInOrder() throws {
    let harness = try Harness()
    try harness.subscribe()
    try harness.enqueue()
    harness.host.clear()
    let host = harness.host
    let attempt = try harness.attempt()
    harness.transport.finish(attempt, .failure(.afterRequestBegan, reused: true))
    let page = Box<RowPage?>(nil)
    let reports = harness.transport.takeReports().map { Command.report($0.0, $0.1) }
    harness.send(
      [
        .rows(RowQuery()) { result in
          if case .success(let rows) = result { page.value = rows }
          host.note(reply: "rows")
        }
      ] + reports)
    #expect(page.value?.rows.first?.attempts == 2)
    #expect(host.names == ["attempt a 1", "state a queued", "state a running", "reply rows"])
  }
}
