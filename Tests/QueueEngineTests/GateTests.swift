import QueueEngine
import QueueModel
import QueueStore
import Testing

@Suite struct GateTests {
  private let origin = Origin(text: "http://h.test")

  // MARK: Credentials

  @Test("B251, A-AUTH-01: 401 parks once, nothing is tried by time; each new header is one request")
  func endless() throws {
    let harness = try Harness()
    try harness.subscribe()
    try harness.enqueue("a", Sample.data(1, #""headers":{"authorization":"t0"}"#))
    try harness.answer(401)
    for number in 1...3 {
      harness.pass(10_000)
      #expect(harness.transport.started.count == number)
      try harness.patch(#"{"Authorization":"t\#(number)"}"#)
      try harness.answer(401)
    }
    #expect(harness.transport.started.map { $0.headers["Authorization"] } == ["t0", "t1", "t2", "t3"])
    #expect(harness.transport.started.allSatisfy { $0.headers.fields.count { $0.value.hasPrefix("t") } == 1 })
    #expect(harness.host.states.count { $0.state == .awaitingAuth } == 4)
    #expect(try harness.row()?.attempts == 4)
  }

  @Test("A-AUTH-02, B252, D7: 401 under older headers is sent again at once and does not park")
  func olderHeaders() throws {
    let harness = try Harness()
    try harness.enqueue("a")
    try harness.subscribe()
    try harness.patch(#"{"Authorization":"new"}"#)
    try harness.answer(401)
    #expect(harness.transport.running.first?.headers["Authorization"] == "new")
    #expect(!harness.host.states.contains { $0.state == .awaitingAuth })
    try harness.answer(401)
    #expect(try harness.state() == .awaitingAuth)
  }

  @Test("D7: 401 after fresh headers by the same id is sent again at once")
  func ownHeaders() throws {
    let harness = try Harness()
    try harness.enqueue("a", Sample.data(1, #""headers":{"Authorization":"old"}"#))
    try harness.enqueue("a", Sample.data(1, #""headers":{"Authorization":"new"}"#))
    try harness.answer(401)
    #expect(harness.transport.running.first?.headers["Authorization"] == "new")
  }

  @Test("A-AUTH-03, B254: new headers let go of those that they cover alone")
  func covered() throws {
    let harness = try Harness()
    let other = #"{"url":"http://other.test/","data":1}"#
    try harness.enqueue("a", key: "k")
    try harness.enqueue("b", key: "l")
    try harness.enqueue("c", key: "k", other)
    for _ in 0..<3 { try harness.answer(401) }
    let origin = try #require(harness.transport.started.first?.url.origin.text)
    try harness.patch(#"{"A":"1"}"#, keys: ["k"], origin: origin)
    #expect(harness.transport.running.map(\.attempt.entry) == [1])
    #expect(try harness.state("b") == .awaitingAuth)
    #expect(try harness.state("c") == .awaitingAuth)
    try harness.patch(#"{"A":"2"}"#, keys: ["k"])
    #expect(harness.transport.running.map(\.attempt.entry) == [1, 3])
    try harness.relaunch()
    #expect(try harness.state("b") == .awaitingAuth)
    try harness.patch(#"{"A":"3"}"#)
    #expect(harness.transport.running.map(\.attempt.entry) == [1, 2, 3])
  }

  @Test("A-AUTH-03: many parked entries go at most three at a time, one state each")
  func manyParked() throws {
    let harness = try Harness()
    for number in 0..<300 {
      try harness.enqueue("e\(number)")
      if !harness.transport.running.isEmpty { try harness.answer(401) }
    }
    #expect(try harness.stats().entries[.awaitingAuth] == 300)
    try harness.subscribe()
    harness.host.clear()
    try harness.patch(#"{"A":"1"}"#)
    #expect(harness.transport.running.count == 3)
    #expect(try harness.stats().entries[.queued] == 297)
    while !harness.transport.running.isEmpty {
      #expect(harness.transport.running.count <= 3)
      try harness.answer(200)
    }
    #expect(try harness.stats().entries[.completed] == 300)
  }

  @Test("B240, B248: parked stays parked over pause and resume; headers changed meanwhile queue it")
  func parkedAndPaused() throws {
    let harness = try Harness()
    try harness.enqueue()
    try harness.answer(401)
    try harness.pause("k")
    try harness.resume("k")
    #expect(try harness.state() == .awaitingAuth)
    try harness.pause("k")
    try harness.patch(#"{"A":"1"}"#)
    #expect(try harness.state() == .paused)
    try harness.resume("k")
    #expect(try harness.state() == .running)
  }

  @Test("D38: a patch is erased when no entry, nor enqueue on its way, is older than it")
  func erased() throws {
    let harness = try Harness()
    try harness.enqueue("a")
    harness.holdStaging()
    _ = try harness.beginEnqueue("b", Sample.file(try harness.source()))
    try harness.patch(#"{"Authorization":"secret"}"#)
    #expect(try harness.store.reader.gates().patches.count == 1)
    try harness.answer(200)
    #expect(try harness.store.reader.gates().patches.count == 1)
    harness.releaseStaging()
    #expect(harness.transport.running.first?.headers["Authorization"] == "secret")
    try harness.answer(200)
    #expect(try harness.store.reader.gates().patches.isEmpty)
    try harness.enqueue("c")
    try harness.answer(401)
    try harness.patch(#"{"Authorization":"next"}"#)
    #expect(harness.transport.running.first?.headers["Authorization"] == "next")
  }

  // MARK: Wi-Fi

  private func network(_ harness: Harness, _ kind: Network.Kind?, metered: Bool = false) throws {
    let network = kind.map { Network(kind: $0, isMetered: metered) }
    try harness.call { .setNetwork(network, from: harness.hostID, $0) }
  }

  @Test(
    "A-QUEUE-01, B249, B250: the toggle moves entries that follow it, the own setting stands, over a relaunch"
  )
  func toggle() throws {
    let harness = try Harness()
    try network(harness, .cellular)
    try harness.call { .setWifiOnly(true, $0) }
    try harness.enqueue("follows")
    try harness.enqueue("never", Sample.data(1, #""wifiOnly":false"#))
    try harness.enqueue("always", Sample.data(1, #""wifiOnly":true"#))
    #expect(harness.transport.running.map(\.attempt.entry) == [2])
    try harness.relaunch()
    try network(harness, .cellular)
    try harness.call { .setWifiOnly(false, $0) }
    #expect(harness.transport.running.map(\.attempt.entry).contains(1))
  }

  @Test(
    "D34: wifiOnly is met by wifi and ethernet that are not metered",
    arguments: [
      (Network.Kind.wifi, false, true), (.ethernet, false, true), (.wifi, true, false),
      (.ethernet, true, false),
      (.cellular, false, false), (.none, false, false),
    ])
  func met(kind: Network.Kind, metered: Bool, starts: Bool) throws {
    let harness = try Harness()
    try network(harness, kind, metered: metered)
    try harness.enqueue("a", Sample.data(1, #""wifiOnly":true"#))
    try harness.enqueue("b")
    #expect(harness.transport.running.map(\.attempt.entry) == (starts ? [1, 2] : [2]))
    #expect(try harness.state("a") == (starts ? .running : .queued))
  }

  @Test("D34: an override lasts as long as its connection, and the newest wins")
  func override() throws {
    let harness = try Harness()
    try network(harness, .wifi)
    let other = harness.connect()
    try harness.call { .setNetwork(Network(kind: .none), from: other.id, $0) }
    try harness.enqueue("a", Sample.data(1, #""wifiOnly":true"#))
    #expect(harness.transport.running.isEmpty)
    harness.send(.disconnected(other.id))
    #expect(harness.transport.running.count == 1)
  }

  // MARK: Slots

  private static let one = #"{"concurrency":{"total":1,"reservedHigh":0,"partsPerEntry":1}}"#
  private static let high = #""priority":"high""#

  /// Answers until nothing runs; the creation numbers in the order of their starts.
  private func order(_ harness: Harness) throws -> [Int64] {
    while !harness.transport.running.isEmpty { try harness.answer(200) }
    return harness.transport.started.map(\.attempt.entry)
  }

  @Test("D25, A-QUEUE-09: three normal at once, the fourth slot is kept for high, equals go in order")
  func reserved() throws {
    let harness = try Harness()
    for number in 0..<10 { try harness.enqueue("n\(number)") }
    #expect(harness.transport.running.count == 3)
    try harness.enqueue("high", Sample.data(1, GateTests.high))
    #expect(harness.transport.running.map(\.attempt.entry) == [1, 2, 3, 11])
    try harness.enqueue("high2", Sample.data(1, GateTests.high))
    #expect(harness.transport.running.count == 4)
    #expect(try order(harness).filter { $0 <= 10 } == Array(1...10))
  }

  @Test("D25: after three high in a row a due normal entry goes")
  func notStarved() throws {
    let harness = try Harness()
    try harness.configure(GateTests.one)
    try harness.pause()
    for number in 1...8 { try harness.enqueue("h\(number)", Sample.data(1, GateTests.high)) }
    for number in 9...12 { try harness.enqueue("n\(number)") }
    try harness.resume()
    #expect(try order(harness) == [1, 2, 3, 9, 4, 5, 6, 10, 7, 8, 11, 12])
  }

  @Test("D25: buckets go in turn, so that many photos hold up no comment")
  func fairKeys() throws {
    let harness = try Harness()
    try harness.configure(GateTests.one)
    try harness.pause()
    for number in 1...6 { try harness.enqueue("p\(number)", key: "photo") }
    for number in 7...8 { try harness.enqueue("c\(number)", key: "comment") }
    try harness.resume()
    #expect(try order(harness) == [1, 7, 2, 8, 3, 4, 5, 6])
  }

  @Test("D25: perOrigin limits one origin and no other")
  func perOrigin() throws {
    let harness = try Harness()
    try harness.configure(
      #"{"concurrency":{"total":4,"reservedHigh":0,"partsPerEntry":1,"perOrigin":1}}"#)
    for id in ["a", "b"] { try harness.enqueue(id) }
    try harness.enqueue("c", #"{"url":"http://other.test/","data":1}"#)
    #expect(harness.transport.running.map(\.attempt.entry) == [1, 3])
    try harness.configure(#"{"concurrency":null}"#)
    #expect(harness.transport.running.map(\.attempt.entry) == [1, 2, 3])
  }

  @Test("Section 2: concurrency counts at the next attempt, running ones are left alone")
  func fewer() throws {
    let harness = try Harness()
    for id in ["a", "b", "c", "d"] { try harness.enqueue(id) }
    try harness.configure(GateTests.one)
    #expect(harness.transport.running.count == 3)
    for _ in 0..<2 { try harness.answer(200) }
    #expect(harness.transport.running.count == 1)
    #expect(harness.transport.started.count == 3)
    try harness.answer(200)
    #expect(harness.transport.started.count == 4)
  }
}
