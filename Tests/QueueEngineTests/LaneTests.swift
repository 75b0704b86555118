import QueueModel
import Testing

@testable import QueueEngine
@testable import QueueStore

@Suite struct LaneTests {
  private let lane = #""lane":"l""#
  private let slow = #""retry":{"backoff":{"baseMs":60000,"maxMs":60000,"jitter":0}}"#

  @Test("D47: entries of a lane run one at a time in the order of acceptance, others beside them")
  func order() throws {
    let harness = try Harness()
    try harness.subscribe()
    for id in ["a", "b", "c"] { try harness.link(id, lane) }
    try harness.link("free")
    try harness.link("other", #""lane":"m""#)
    #expect(try harness.running == ["a", "free", "other"])
    #expect(try harness.row("b")?.lane?.text == "l")
    #expect(try harness.gates("c").map(\.detail) == ["comes after a (running) in its lane"])
    try harness.relaunch()
    #expect(try harness.running == ["a", "free", "other"])
    try harness.subscribe()
    try harness.finish("a", .answer(200))
    #expect(harness.outcome("a")?.lane?.text == "l")
    #expect(try harness.running == ["b", "free", "other"])
    try harness.finish("b", .answer(400))
    #expect(try harness.running == ["c", "free", "other"])
  }

  @Test("D47: the first keeps the lane through backoff, pause, parking and its own predecessors")
  func holds() throws {
    let harness = try Harness()
    try harness.link("p")
    try harness.link("a", #""after":["p"],\#(lane)"#, Sample.data(1, slow))
    try harness.link("b", lane)
    #expect(try harness.running == ["p"])
    try harness.finish("p", .answer(200))
    #expect(try harness.running == ["a"])
    try harness.finish("a", .answer(503))
    #expect(try harness.running == [])
    try harness.relaunch(downtime: 0)
    #expect(try harness.running == [])
    harness.pass(60_000)
    #expect(try harness.running == ["a"])
    try harness.pause()
    try harness.resume()
    #expect(try harness.running == ["a"])
    try harness.finish("a", .answer(401))
    #expect(try harness.state("a") == .awaitingAuth)
    #expect(try harness.running == [])
    try harness.patch(#"{"Authorization":"x"}"#)
    #expect(try harness.running == ["a"])
    try harness.finish("a", .answer(200))
    #expect(try harness.running == ["b"])
  }

  @Test("D47: any end lets the next go: cancel, expiry, also of one in the middle", arguments: [0, 1])
  func ends(_ place: Int) throws {
    let harness = try Harness()
    try harness.pause()
    let deadline = harness.clock.now().wall + 1000
    let ids = ["a", "b", "c"]
    for (index, id) in ids.enumerated() {
      let more = index == place ? #""expiresAt":\#(deadline)"# : ""
      try harness.link(id, lane, Sample.data(1, more))
    }
    harness.advance(1000)
    try harness.resume()
    #expect(try harness.state(ids[place]) == .error)
    #expect(try harness.running == [place == 0 ? "b" : "a"])
    try harness.cancel(place == 0 ? "b" : "a")
    #expect(try harness.running == ["c"])
  }

  @Test("D47: many of one lane that expire together leave exact counts")
  func expireTogether() throws {
    let harness = try Harness()
    try harness.pause()
    let deadline = harness.clock.now().wall + 1000
    for number in 0..<100 {
      try harness.link("e\(number)", lane, Sample.data(1, #""expiresAt":\#(deadline)"#))
    }
    try harness.link("last", lane)
    harness.advance(1000)
    try harness.resume()
    let stats = try harness.stats().entries
    #expect(stats[.error] == 100)
    #expect(stats[.queued] == 0)
    #expect(try harness.running == ["last"])
  }

  @Test("D47: one that is enqueued again keeps its place; reopened it joins at the end")
  func again() throws {
    let harness = try Harness()
    for id in ["a", "b", "c"] { try harness.link(id, lane) }
    try harness.link("b", lane, Sample.data(2))
    try harness.finish("a", .answer(400))
    #expect(try harness.running == ["b"])
    #expect(try harness.link("a", lane).disposition == .reopened)
    try harness.finish("b", .answer(200))
    #expect(try harness.running == ["c"])
    try harness.finish("c", .answer(200))
    #expect(try harness.running == ["a"])
  }

  @Test("D47: an entry may leave its lane or change to another, and the lane goes on")
  func moves() throws {
    let harness = try Harness()
    for id in ["a", "b", "c"] { try harness.link(id, lane) }
    try harness.link("x", #""lane":"m""#)
    #expect(try harness.link("a", #""lane":"m""#).disposition == .resumed)
    #expect(try harness.running == ["b", "x"])
    try harness.link("c", "")
    #expect(try harness.running == ["b", "c", "x"])
    try harness.finish("x", .answer(200))
    #expect(try harness.running == ["a", "b", "c"])
  }

  @Test("D47, D50: moves of one call are made together")
  func movesTogether() throws {
    let harness = try Harness()
    for id in ["a", "b", "c"] { try harness.link(id, lane) }
    try harness.linkAll(("a", #""lane":"m""#), ("b", lane), ("n", lane), ("c", #""lane":"m""#))
    #expect(try harness.running == ["a", "b"])
    try harness.finish("b", .answer(200))
    #expect(try harness.running == ["a", "n"])
    try harness.finish("a", .answer(200))
    #expect(try harness.running == ["c", "n"])
    #expect(try harness.stats().entries[.queued] == 0)
  }

  @Test("D45, D47, D50: one that fails at its acceptance does not take others of the call out of the lane")
  func failsAtOnce() throws {
    let harness = try Harness()
    try harness.subscribe()
    try harness.link("dead")
    try harness.answer(400)
    try harness.link("a", lane)
    try harness.link("b", lane)
    try harness.linkAll(
      ("a", #""after":["dead"],"onFailure":"settle",\#(lane)"#), ("b", lane), ("c", lane))
    #expect(harness.outcome("a")?.failure == "dependency: dead ended with an error")
    #expect(try harness.running == ["b"])
    try harness.finish("b", .answer(200))
    #expect(try harness.running == ["c"])
  }

  @Test("D45, D47: a lane and after may not wait for each other")
  func circle() throws {
    let harness = try Harness()
    try harness.pause()
    try harness.link("a", lane)
    try harness.link("b", lane)
    #expect(try #require(try harness.refusal(of: "a", #""after":["b"],\#(lane)"#)).hasPrefix("after: "))
    #expect(try harness.refusal(of: "a", #""after":["b"]"#) == nil, "it leaves the lane")
    #expect(try harness.refusal(of: "a", #""after":["b"],"lane":"m""#) == nil)
    do {
      try harness.linkAll(("x", #""after":["y"],"lane":"n""#), ("y", #""lane":"n""#))
      Issue.record("x comes after y, which is behind it")
    } catch Refusal.entry(0, .invalid(let input)) {
      #expect(input.path == "after")
    }
  }

  @Test("B146, D47: an entry that cannot be read holds up its lane until its deadline, and no longer")
  func damaged() throws {
    let harness = try Harness()
    try harness.pause()
    let deadline = harness.clock.now().wall + 1000
    try harness.link("a", lane, Sample.data(1, #""expiresAt":\#(deadline)"#))
    try harness.link("b", lane)
    try harness.store.write(durable: false) {
      try $0.tables.connection.execute("UPDATE entry_text SET request = '{' WHERE number = 1")
    }
    try harness.resume()
    #expect(try harness.running == [])
    harness.pass(1000)
    #expect(try harness.running == ["b"])
  }

  @Test("D47: a lane is named by 1 to 256 bytes", arguments: ["", String(repeating: "x", count: 257)])
  func name(_ text: String) throws {
    let harness = try Harness()
    #expect(
      try harness.refusal(of: "a", #""lane":"\#(text)""#) == "lane: must be a string of 1 to 256 bytes")
  }

  @Test(
    "D47, D48, D49: a whole lane ends at once with its group, by cancel or by its limit",
    arguments: [true, false])
  func wholeLane(_ cancels: Bool) throws {
    let harness = try Harness()
    try harness.subscribe()
    for id in ["a", "b", "c", "d"] {
      try harness.link(id, #"\#(lane),"group":"g","groupDeadlineMs":1000"#, Sample.data(1, slow))
    }
    try harness.finish("a", .answer(503))
    if cancels { try harness.cancel(group: "g") } else { harness.pass(1000) }
    #expect(try Set(harness.rows().map(\.state)) == [cancels ? .cancelled : .error])
    try #expect(harness.store.reader.verify().checks.flatMap(\.problems) == [])
  }
}
