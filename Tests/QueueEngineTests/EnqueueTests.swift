import Foundation
import JSONText
import QueueEngine
import QueueModel
import Testing

@Suite struct EnqueueTests {
  @Test("Section 1: the reply to enqueue comes before every event about the entry")
  func replyFirst() throws {
    let harness = try Harness()
    try harness.subscribe()
    try harness.enqueue()
    #expect(harness.host.names == ["reply a", "state a queued", "state a running"])
    harness.host.clear()
    try harness.enqueue()
    #expect(harness.host.names == ["reply a", "state a running"])
  }

  @Test("D5: data that is so large that it lies in a file is compared as any other")
  func largeData() throws {
    let harness = try Harness()
    try harness.pause()
    let large = String(repeating: "x", count: 100_000)
    func request(_ data: String) -> String { #"{"url":"\#(Sample.url)","data":\#(data)}"# }
    try harness.enqueue("a", request(#"{"a":"\#(large)"}"#))
    #expect(try harness.enqueue("a", request(#"{ "a" : "\#(large)" }"#)).disposition == .resumed)
    #expect(try harness.enqueue("a", request(#"{"a":"\#(large)y"}"#)).disposition == .replaced)
    #expect(try harness.bodyFiles().count == 1)
  }

  @Test("B224, D3: an entry enqueued under a pause is paused and has no attempt")
  func createdPaused() throws {
    let harness = try Harness()
    try harness.pause()
    let answer = try harness.enqueue()
    #expect(answer.disposition == .created)
    #expect(answer.row.state == .paused)
    #expect(answer.row.attempts == 0)
    #expect(harness.transport.started.isEmpty)
    try harness.resume()
    #expect(try harness.row()?.attempts == 1)
  }

  @Test("B211: the same body while running replaces metadata, and nothing starts again")
  func resumedRunning() throws {
    let harness = try Harness()
    try harness.enqueue(vars: "[1]")
    let answer = try harness.enqueue(vars: "[2]", #"{"data": {"n" : 1}, "url":"http://h.test/x"}"#)
    #expect(answer.disposition == .resumed)
    #expect(answer.generation == 1)
    #expect(answer.row.vars.description == "[2]")
    #expect(harness.transport.started.count == 1)
    #expect(harness.transport.stopped.isEmpty)
    try harness.subscribe()
    try harness.answer(200)
    #expect(harness.host.settled.first?.outcome.vars.description == "[2]")
  }

  @Test("B212: the same body in backoff runs now, and the streak begins anew")
  func resumedWaiting() throws {
    let harness = try Harness()
    try harness.enqueue()
    for _ in 0..<3 {
      try harness.answer(503)
      harness.pass(10_000)
    }
    #expect(try harness.row()?.attempts == 4)
    try harness.answer(503)
    #expect(try harness.row()?.nextAttemptAt != nil)
    let answer = try harness.enqueue()
    #expect(answer.disposition == .resumed)
    #expect(answer.row.nextAttemptAt == nil)
    #expect(try harness.row()?.attempts == 5)
    try harness.answer(503)
    let wait = try #require(try harness.row()?.nextAttemptAt) - harness.clock.now().wall
    #expect((800...1200).contains(wait))
  }

  @Test(
    "B213, B216, D5: another body, url or method in place of one that waits is a new generation",
    arguments: [
      Sample.data(2), #"{"url":"http://h.test/y","data":{"n":1}}"#,
      #"{"url":"http://h.test/x","method":"PUT","data":{"n":1}}"#,
    ])
  func replacedWaiting(request: String) throws {
    let harness = try Harness()
    try harness.enqueue()
    try harness.answer(503)
    let answer = try harness.enqueue("a", request)
    #expect(answer.disposition == .replaced)
    #expect(answer.generation == 2)
    #expect(answer.row.attempts == 0)
    #expect(try harness.attempt().generation == 2)
    #expect(harness.transport.started.count == 2)
  }

  @Test("B214: another body while running is E_RUNNING and changes nothing")
  func refusedRunning() throws {
    let harness = try Harness()
    try harness.enqueue(vars: "[1]")
    #expect { try harness.enqueue(vars: "[2]", Sample.data(2)) } throws: { error in
      if case .running = error as? Refusal { true } else { false }
    }
    #expect(try harness.row()?.vars.description == "[1]")
    #expect(harness.transport.stopped.isEmpty)
  }

  @Test("B217, B221: the same body after an error reopens: a new generation from zero, one more outcome")
  func reopened() throws {
    let harness = try Harness()
    try harness.subscribe()
    try harness.enqueue()
    try harness.answer(400)
    let answer = try harness.enqueue()
    #expect(answer.disposition == .reopened)
    #expect(answer.generation == 2)
    #expect(answer.row.attempts == 0)
    try harness.answer(200)
    #expect(harness.host.settled.map(\.outcome.generation) == [1, 2])
  }

  @Test("D19: a reopen after http takes a new Idempotency-Key, a retry keeps it")
  func idempotencyKeys() throws {
    let harness = try Harness()
    try harness.enqueue()
    try harness.answer(503)
    harness.pass(2000)
    try harness.answer(400)
    try harness.enqueue()
    let keys = harness.transport.started.map { $0.headers["Idempotency-Key"] }
    #expect(keys.count == 3)
    #expect(keys[0] != nil && keys[0] == keys[1] && keys[1] != keys[2] && keys[2] != nil)
  }

  @Test(
    "B218, D8, D6: a completed entry is delivered again under its event id, key and vars; nothing is sent")
  func redelivered() throws {
    let harness = try Harness()
    try harness.subscribe()
    try harness.enqueue(vars: "[1]")
    try harness.answer(200)
    let answer = try harness.enqueue(key: "other", vars: "[2]")
    #expect(answer.disposition == .redelivered)
    #expect(answer.generation == 1)
    #expect(harness.host.settled.map(\.deliveries) == [1, 2])
    #expect(Set(harness.host.eventIDs).count == 1)
    #expect(harness.host.settled[1].outcome.key == EntryKey("k"))
    #expect(harness.host.settled[1].outcome.vars.description == "[1]")
    #expect(harness.transport.started.count == 1)
    let reply = try #require(harness.host.names.lastIndex(of: "reply a"))
    #expect(harness.host.names.last == "settled a completed" && reply == harness.host.names.count - 2)
  }

  @Test("B219: a completed entry whose outcome was acknowledged begins anew")
  func afterAcknowledge() throws {
    let harness = try Harness()
    try harness.subscribe()
    try harness.enqueue()
    try harness.answer(200)
    try harness.acknowledge(harness.host.eventIDs)
    #expect(try harness.row() == nil)
    #expect(try harness.enqueue().disposition == .created)
    #expect(harness.transport.started.count == 2)
  }

  @Test("B220: a cancelled entry starts a fresh generation, and the old acknowledgement forgets nothing")
  func afterCancel() throws {
    let harness = try Harness()
    try harness.subscribe()
    try harness.enqueue()
    try harness.cancel()
    let old = harness.host.eventIDs
    let answer = try harness.enqueue()
    #expect(answer.disposition == .replaced)
    #expect(answer.generation == 2)
    try harness.acknowledge(old)
    #expect(try harness.state() == .running)
    try harness.answer(200)
    #expect(harness.host.settled.map(\.outcome.generation) == [1, 2])
    #expect(harness.transport.started.last?.body.length == 7)
  }

  @Test("B225, D6: onto a paused key a running attempt stops, off it the entry runs")
  func movesKeys() throws {
    let harness = try Harness()
    try harness.pause("held")
    try harness.enqueue()
    let answer = try harness.enqueue(key: "held")
    #expect(answer.row.state == .paused)
    #expect(harness.transport.running.isEmpty)
    #expect(harness.transport.stopped.count == 1)
    #expect(try harness.enqueue().disposition == .resumed)
    #expect(harness.transport.running.count == 1)
  }

  @Test("D6: an attempt whose entry moved to another key stops with that key and not with the old one")
  func keyOfFlight() throws {
    let harness = try Harness()
    try harness.subscribe()
    try harness.enqueue(key: "old")
    try harness.enqueue(key: "new")
    try harness.pause("old")
    #expect(harness.transport.stopped.isEmpty)
    try harness.pause("new")
    #expect(harness.transport.running.isEmpty)
    #expect(try harness.state() == .paused)
  }

  @Test("B222, B226: the same body frees a parked entry, attempts go on; under a pause it runs at resume")
  func resumedParked() throws {
    let harness = try Harness()
    try harness.enqueue()
    try harness.answer(401)
    #expect(try harness.state() == .awaitingAuth)
    try harness.enqueue()
    #expect(try harness.row()?.attempts == 2)
    try harness.answer(401)
    try harness.pause()
    #expect(try harness.enqueue().row.state == .paused)
    try harness.resume()
    #expect(try harness.row()?.attempts == 3)
  }

  @Test("B228: a same-id enqueue replaces the entry's own wifiOnly")
  func replacesWifiOnly() throws {
    let harness = try Harness()
    try harness.call { .setNetwork(Network(kind: .cellular), from: harness.hostID, $0) }
    try harness.enqueue("a", Sample.data(1, #""wifiOnly":true"#))
    #expect(harness.transport.started.isEmpty)
    try harness.enqueue("a", Sample.data(1, #""wifiOnly":false"#))
    #expect(harness.transport.started.count == 1)
  }

  @Test("A-QUEUE-08: the same content under two ids is two requests")
  func noDedupe() throws {
    let harness = try Harness()
    try harness.enqueue("a", Sample.data(1, #""headers":{"X-M":"1"}"#))
    try harness.enqueue("b", Sample.data(1, #""headers":{"X-M":"2"}"#))
    #expect(harness.transport.started.map { $0.headers["X-M"] } == ["1", "2"])
  }

  @Test("E_SHUTDOWN: nothing is kept of an enqueue after finish")
  func finishing() throws {
    let harness = try Harness()
    harness.send(.finish)
    #expect { try harness.enqueue() } throws: { error in
      if case .shutdown = error as? Refusal { true } else { false }
    }
    try harness.relaunch()
    #expect(try harness.rows().isEmpty)
  }
}
