import QueueModel
import QueueStore
import Testing

@testable import QueueEngine

/// Entries that come after others.
@Suite struct DependencyTests {
  private let afterA = #""after":["a"]"#

  @Test("D45: an entry is sent when all that it comes after are completed, over restarts in between")
  func waits() throws {
    let harness = try Harness()
    try harness.subscribe()
    try harness.link("a")
    try harness.link("b")
    let answer = try harness.link("c", #""after":["a","b","a"]"#)
    #expect(answer.disposition == .created)
    #expect(answer.row.state == .queued)
    #expect(try harness.running == ["a", "b"])
    try harness.relaunch()
    try harness.finish("a", .answer(200))
    #expect(try harness.running == ["b"])
    #expect(try harness.gates("c").map(\.detail) == ["waits for b (running)"])
    try harness.relaunch()
    try harness.finish("b", .answer(200))
    #expect(try harness.running == ["c"])
    try harness.subscribe()
    try harness.finish("c", .answer(200))
    #expect(harness.host.settled.map(\.outcome.id.text) == ["a", "b", "c"])
    #expect(harness.transport.started.count == 6)
  }

  @Test("D45: who comes after a completed entry is sent at once")
  func completedBefore() throws {
    let harness = try Harness()
    try harness.link("a")
    try harness.answer(200)
    try harness.link("b", afterA)
    #expect(try harness.running == ["b"])
  }

  @Test(
    "D45: what is named has to be there, is not the entry itself, and the refusal says where it stands",
    arguments: [
      (#""after":["nobody"]"#, "after[0]: names no entry"),
      (#""after":["a","b","nobody"]"#, "after[2]: names no entry"),
      (#""after":["a","new"]"#, "after[1]: must not name the entry itself"),
      (#""bind":{"n":{"entry":"nobody","pointer":""}}"#, "bind.n.entry: names no entry"),
      (#""bind":{"n":{"entry":"new","pointer":""}}"#, "bind.n.entry: must not name the entry itself"),
    ])
  func refused(_ more: String, _ expected: String) throws {
    let harness = try Harness()
    try harness.link("a")
    try harness.link("b")
    #expect(try harness.refusal(of: "new", more) == expected)
    #expect(try harness.rows().count == 2)
  }

  @Test("D45: entries do not wait for each other in a circle, by edges of before or of one call")
  func circle() throws {
    let harness = try Harness()
    try harness.pause()
    try harness.link("a")
    try harness.link("b", afterA)
    try harness.link("c", #""after":["b"]"#)
    let refused = try #require(try harness.refusal(of: "a", #""after":["c"]"#))
    #expect(refused.hasPrefix("after: must not make entries wait for each other in a circle"))
    #expect(try harness.gates("a").map(\.gate) == [.queue])
    do {
      try harness.linkAll(("x", #""after":["y"]"#), ("y", #""after":["z"]"#), ("z", #""after":["x"]"#))
      Issue.record("a circle was taken")
    } catch Refusal.entry(let index, .invalid(let input)) {
      #expect(index == 0)
      #expect(input.path == "after")
    }
    #expect(try harness.rows().count == 3)
  }

  @Test("D45, D50: entries of one call may come after each other in any order")
  func oneCall() throws {
    let harness = try Harness()
    try harness.linkAll(("c", #""after":["b","a"]"#), ("b", afterA), ("a", ""))
    #expect(try harness.running == ["a"])
    try harness.finish("a", .answer(200))
    #expect(try harness.running == ["b"])
    try harness.finish("b", .answer(200))
    #expect(try harness.running == ["c"])
  }

  @Test("D45: a failure leaves those that come after it waiting, and they go on when it is enqueued again")
  func failureWaits() throws {
    let harness = try Harness()
    try harness.link("a")
    try harness.link("b", afterA)
    try harness.answer(400)
    #expect(try harness.state("b") == .queued)
    #expect(try harness.gates("b").map(\.detail) == ["waits for a (error)"])
    try harness.relaunch()
    #expect(try harness.link("a").disposition == .reopened)
    try harness.answer(200)
    #expect(try harness.running == ["b"])
  }

  @Test("D45: one that was cancelled and forgotten may come again under its id")
  func cancelledAndGone() throws {
    let harness = try Harness()
    try harness.link("a")
    try harness.link("b", afterA)
    try harness.cancel("a")
    #expect(try harness.gates("b").map(\.detail) == ["waits for a (cancelled)"])
    try harness.cancel("a")
    #expect(try harness.gates("b").map(\.detail) == ["waits for a (cancelled and gone; enqueue it again)"])
    try harness.link("a", "", Sample.data(2))
    try harness.answer(200)
    #expect(try harness.running == ["b"])
  }

  @Test("D45: with onFailure settle the end of one ends all that come after it, in the same commit")
  func failureSettles() throws {
    let harness = try Harness()
    try harness.subscribe()
    let settle = #""onFailure":"settle""#
    try harness.link("a")
    try harness.link("b", "\(afterA),\(settle)")
    try harness.link("c", #""after":["b"],\#(settle)"#)
    try harness.link("d", #""after":["c"]"#)
    let commits = try harness.stats().commits
    try harness.answer(400)
    #expect(try harness.stats().commits == commits + 1)
    #expect(harness.outcome("b")?.failure == "dependency: a ended with an error")
    #expect(harness.outcome("c")?.failure == "dependency: b ended with an error")
    #expect(try harness.state("d") == .queued)
    try harness.link("e", #""after":["c"],\#(settle)"#)
    #expect(harness.outcome("e")?.failure == "dependency: c ended with an error")
  }

  @Test("D45, D48: what a pause stops of an entry is stopped also where its predecessor ends it at once")
  func stopsAndEnds() throws {
    let harness = try Harness()
    try harness.subscribe()
    try harness.link("a")
    try harness.finish("a", .answer(400))
    try harness.link("b")
    #expect(try harness.running == ["b"])
    try harness.pause(group: "g")
    try harness.link("b", "\(afterA),\"onFailure\":\"settle\",\"group\":\"g\"")
    #expect(harness.outcome("b")?.failure == "dependency: a ended with an error")
    #expect(harness.transport.running.isEmpty)
    #expect(harness.transport.stopped.count == 1)
  }

  @Test("D45: with onFailure settle a cancel ends them, and they can be reopened when it is there again")
  func cancelSettles() throws {
    let harness = try Harness()
    try harness.subscribe()
    try harness.link("a")
    try harness.link("b", #""after":["a"],"onFailure":"settle""#)
    try harness.cancel("a")
    #expect(harness.outcome("b")?.failure == "dependency: a was cancelled")
    try harness.link("a")
    #expect(try harness.link("b", afterA).disposition == .reopened)
    try harness.finish("a", .answer(200))
    #expect(try harness.running == ["b"])
  }

  @Test("D4, D45: an entry that waits expires at its own deadline, but not while it is paused")
  func expires() throws {
    let harness = try Harness()
    try harness.subscribe()
    try harness.pause()
    try harness.link("a")
    let deadline = harness.clock.now().wall + 5000
    try harness.link("b", afterA, Sample.data(1, #""expiresAt":\#(deadline)"#))
    harness.pass(6000)
    #expect(try harness.state("b") == .paused)
    try harness.resume()
    #expect(harness.outcome("b")?.failure == "expired: expiresAt has passed")
  }

  @Test("D45: a wait shows as queued, counts as queued, and does not keep a drain from ending")
  func shows() throws {
    let harness = try Harness()
    try harness.link("a")
    try harness.link("b", afterA)
    #expect(try harness.stats().entries[.queued] == 1)
    try harness.answer(400)
    #expect(harness.engine.isDrained())
    try harness.pause("k")
    #expect(try harness.state("b") == .paused)
    #expect(try harness.gates("b").map(\.gate) == [.key, .dependency])
  }

  @Test("D45: enqueued again, a live entry waits for what it names then; what was met stays met")
  func replacesEdges() throws {
    let harness = try Harness()
    for id in ["a", "b", "c"] { try harness.link(id) }
    try harness.link("d", #""after":["a","b"]"#)
    try harness.finish("a", .answer(200))
    #expect(try harness.link("d", #""after":["a","c"]"#).disposition == .resumed)
    #expect(try harness.gates("d").map(\.detail) == ["waits for c (running)"])
    #expect(try harness.link("d", #""after":["b"]"#, Sample.data(7)).disposition == .replaced)
    #expect(try harness.gates("d").map(\.detail) == ["waits for b (running)"])
    try harness.link("d", "", Sample.data(7))
    #expect(try harness.running == ["b", "c", "d"])
  }

  @Test("D6, D45: a running entry that is to wait from now on stops, as when its key is paused")
  func stopsRunning() throws {
    let harness = try Harness()
    try harness.link("a")
    try harness.link("b")
    let attempt = try harness.sent("b").attempt
    #expect(try harness.link("b", afterA).disposition == .resumed)
    #expect(harness.transport.stopped == [attempt])
    #expect(try harness.state("b") == .queued)
    try harness.finish("a", .answer(200))
    #expect(try harness.running == ["b"])
    #expect(try harness.sent("b").attempt.ordinal == 2)
  }

  @Test("D45: explain names at most ten of those that it waits for")
  func explains() throws {
    let harness = try Harness()
    try harness.pause()
    let ids = (1...12).map { "p\($0)" }
    for id in ids { try harness.link(id) }
    try harness.link("z", #""after":[\#(ids.map { #""\#($0)""# }.joined(separator: ","))]"#)
    let detail = try #require(try harness.gates("z").last { $0.gate == .dependency }).detail
    #expect(detail.hasPrefix("waits for p1 (paused), p2 (paused)"))
    #expect(detail.hasSuffix("p10 (paused), and 2 more"))
  }

  @Test(
    "D45, D44: what settled and comes back in the same way closes no circle with what came after it since")
  func circleOverTheEnd() throws {
    let harness = try Harness()
    try harness.subscribe()
    try harness.link("b")
    let after = #""after":["b"],"onFailure":"settle""#
    try harness.link("a", after)
    try harness.cancel("b")
    #expect(try harness.state("a") == .error)
    try harness.link("b", #""after":["a"]"#)
    #expect(try harness.refusal(of: "a", after)?.contains("circle: b, a") == true)
    let refusal = #expect(throws: Refusal.self) { try harness.retry("a") }
    guard case .invalid(let input)? = refusal else { throw refusal ?? .running }
    #expect(input.path == "id")
    #expect(input.message.hasPrefix("cannot run again as it was enqueued: after must not make entries wait"))
    #expect(try harness.state("a") == .error)
    try harness.link("a")
    try harness.finish("a", .answer(200))
    #expect(try harness.running == ["b"])
  }
}
