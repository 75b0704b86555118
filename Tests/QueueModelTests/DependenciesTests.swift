import JSONText
import Testing

@testable import QueueModel

@Suite struct DependenciesTests {
  private func read(_ more: String, id: String = "e") throws -> Enqueue {
    try Enqueue(reading: json(#"{"id":"\#(id)","key":"k","request":{"url":"http://h/"},\#(more)}"#)) {
      EntryID("made")
    }
  }

  @Test(
    "D45 to D47: what is wrong is named by its place",
    arguments: [
      (#""after":"a""#, "after"), (#""after":null"#, "after"), (#""after":["a",1]"#, "after[1]"),
      (#""after":[""]"#, "after[0]"), (#""after":["a","e"]"#, "after[1]"),
      (#""onFailure":"stop""#, "onFailure"),
      (#""onFailure":true"#, "onFailure"), (#""bind":[]"#, "bind"), (#""bind":{"1a":{}}"#, #"bind.1a"#),
      (#""bind":{"a-b":{"entry":"p","pointer":""}}"#, "bind.a-b"), (#""bind":{"a":1}"#, "bind.a"),
      (#""bind":{"a":{"pointer":""}}"#, "bind.a.entry"), (#""bind":{"a":{"entry":"p"}}"#, "bind.a"),
      (#""bind":{"a":{"entry":"p","pointer":"x"}}"#, "bind.a.pointer"),
      (#""bind":{"a":{"entry":"p","pointer":"/~2"}}"#, "bind.a.pointer"),
      (#""bind":{"a":{"entry":"p","header":"a b"}}"#, "bind.a.header"),
      (#""bind":{"a":{"entry":"p","header":"x","pointer":""}}"#, "bind.a"),
      (#""bind":{"a":{"entry":"p","pointre":""}}"#, "bind.a.pointre"),
      (#""bind":{"a":{"entry":"e","pointer":""}}"#, "bind.a.entry"), (#""lane":1"#, "lane"),
      (#""afte":[]"#, "afte"),
    ])
  func refused(_ more: String, _ path: String) throws {
    #expect { try read(more) } throws: { ($0 as? InvalidInput)?.path == path }
  }

  @Test("D45, D46: names that stand twice count once, those of bindings included")
  func once() throws {
    let enqueue = try read(
      #""after":["a","b","a"],"bind":{"x":{"entry":"b","pointer":""},"y":{"entry":"c","header":"Location"}}"#)
    #expect(enqueue.dependencies.predecessors.map(\.id.text) == ["a", "b", "c"])
    #expect(enqueue.dependencies.predecessors.map(\.path) == ["after[0]", "after[1]", "bind.y.entry"])
    #expect(enqueue.dependencies.onFailure == .wait)
  }

  @Test("D45, D46: at most 1000 ids and 64 names")
  func limits() throws {
    func ids(_ count: Int) -> String { (0..<count).map { #""p\#($0)""# }.joined(separator: ",") }
    func names(_ count: Int) -> String {
      (0..<count).map { #""n\#($0)":{"entry":"p","pointer":""}"# }.joined(separator: ",")
    }
    #expect(try read(#""after":[\#(ids(1000))]"#).dependencies.predecessors.count == 1000)
    #expect(throws: InvalidInput(path: "after", message: "must have at most 1000 ids")) {
      try read(#""after":[\#(ids(1001))]"#)
    }
    #expect(try read(#""bind":{\#(names(64))}"#).dependencies.bindings.count == 64)
    #expect(throws: InvalidInput(path: "bind", message: "must have at most 64 names")) {
      try read(#""bind":{\#(names(65))}"#)
    }
  }

  @Test("D45: a circle is found wherever it begins, and a large one is not searched for ever")
  func circles() throws {
    let graph = ["a": ["b", "c"], "b": ["d"], "c": ["d"], "d": [], "x": ["y"], "y": ["z", "a"], "z": ["x"]]
    func search(_ first: String...) -> Circle {
      Circle.search(from: first.map { EntryID($0) }) { id throws(Never) in
        (graph[id.text] ?? []).map { EntryID($0) }
      }
    }
    #expect(search("a", "b") == .none)
    #expect(search("a", "x") == .closed(["x", "y", "z"].map { EntryID($0) }))
    let endless = Circle.search(from: [EntryID("0")]) { id throws(Never) in
      [EntryID("\((Int(id.text) ?? 0) + 1)")]
    }
    #expect(endless == .tooLarge)
  }

  @Test("D42, D45, D47: what holds an entry is never nothing, and goes step by step")
  func held() throws {
    #expect(Entry.Held(unmet: 0, isBehind: false) == nil)
    var entry = try Entry.sample()
    entry.state = .held(try #require(Entry.Held(unmet: 2, isBehind: true)))
    #expect(entry.cameFirst(now: .start).effects.isEmpty)
    let first = entry.met(now: .start).entry
    #expect(first.held == Entry.Held(unmet: 1, isBehind: true))
    #expect(first.cameFirst(now: .start).entry.held == Entry.Held(unmet: 1, isBehind: false))
    let second = first.met(now: .start).entry
    #expect(second.held == Entry.Held(unmet: 0, isBehind: true))
    #expect(second.met(now: .start).entry.held == second.held)
    let free = second.cameFirst(now: .start.after(5))
    #expect(free.entry.state == .queued(.init(due: Moment.start.steady + 5)))
    #expect(free.effects.count == 1)
    #expect(free.entry.cameFirst(now: .start).effects.isEmpty)
  }
}
