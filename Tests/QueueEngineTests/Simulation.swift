import QueueEngine
import QueueModel
import QueueStore

/// One random history, the same for the same seed: a host that asks for anything, a far side that answers
/// anything, a clock that jumps, a process that dies. After each step the rules are held against what was
/// seen.
struct Simulation {
  struct Broken: Error {
    var rule: String
  }

  private let harness: Harness
  private let dice: SeededRandomness
  private(set) var log: [String] = []
  private var view = View()
  private var known: [AttemptID] = []
  /// Parts accepted so far of each plan, by creation number and the generation it came with.
  private var acceptedParts: [[Int64]: Set<Int>] = [:]
  private var files = 0

  init(seed: UInt64) throws {
    harness = try Harness(seed: seed)
    dice = SeededRandomness(seed: seed &* 7919)
    try harness.configure(
      """
      {"retry":{"backoff":{"baseMs":1000,"maxMs":8000,"jitter":0.5},
      "transient":[{"status":418,"maxRetries":1}]}}
      """)
    try harness.subscribe(window: 1024)
  }

  mutating func run(steps: Int) throws {
    for _ in 0..<steps {
      try step()
      try check()
    }
    try drain()
  }

  private mutating func step() throws {
    let id = "e\(dice.below(6))"
    let key = "k\(dice.below(2))"
    switch dice.below(26) {
    case 0...5: try enqueue(id, key)
    case 6: note("cancel \(id)"); try harness.cancel(id)
    case 7: note("pause"); try harness.pause()
    case 8, 9: note("resume"); try harness.resume()
    case 10: note("pause \(key)"); try harness.pause(key)
    case 11: note("resume \(key)"); try harness.resume(key)
    case 12: note("patch \(key)"); try harness.patch(#"{"A":"\#(dice.below(1000))"}"#, keys: [key])
    case 13...17: try answer()
    case 18: note("late"); try late()
    case 19, 20:
      let time = Int64([1, 300, 1500, 9000][dice.below(4)])
      note("pass \(time)")
      harness.pass(time)
    case 21: note("acknowledge"); try acknowledge()
    case 22: note("relaunch"); try relaunch()
    case 23, 24: try retry(id)
    default: note("wifi"); try toggleNetwork()
    }
  }

  private mutating func note(_ line: String) { log.append(line) }

  private mutating func enqueue(_ id: String, _ key: String) throws {
    var more: [String] = []
    if dice.below(4) == 0 { more.append(#""priority":"high""#) }
    if dice.below(5) == 0 { more.append(#""wifiOnly":true"#) }
    if dice.below(5) == 0 {
      more.append(#""expiresAt":\#(harness.clock.now().wall + Int64(dice.below(6000)) - 500)"#)
    }
    let host = dice.below(3) == 0 ? "g" : "h"
    let request =
      dice.below(3) == 0
      ? try parts(host, more.joined(separator: ","))
      : #"{"url":"http://\#(host).test/","data":\#(dice.below(2))\#(more.map { ",\($0)" }.joined())}"#
    do {
      let answer = try harness.enqueue(id, key: key, request)
      note("enqueue \(id) \(key) \(request): \(answer.disposition) \(answer.generation)")
      try view.accepted(id, answer)
    } catch Refusal.running {
      note("enqueue \(id) \(key) \(request): E_RUNNING")
    } catch Refusal.fileMissing {
      note("enqueue \(id) \(key) \(request): E_FILE_MISSING")
    } catch Refusal.invalid {
      // Its parts do not fit the body that the entry owns.
      note("enqueue \(id) \(key) \(request): E_INVALID")
    }
  }

  private mutating func retry(_ id: String) throws {
    do {
      let row = try harness.retry(id)
      note("retry \(id): \(row.state)")
      guard let entry = try harness.store.reader.entry(id: EntryID(id)) else { return }
      try view.retried(row, generation: entry.generation)
    } catch Refusal.invalid {
      note("retry \(id): E_INVALID")
    }
  }

  /// One of two plans over a file of 5 bytes, which may be there or not.
  private mutating func parts(_ host: String, _ more: String) throws -> String {
    let sizes = dice.below(2) == 0 ? [1, 1, 1, 1, 1] : [2, 3]
    if dice.below(3) > 0 {
      files += 1
      return Sample.parts(try harness.source("f\(files)", sizes: sizes), sizes, more, host: host)
    }
    return Sample.parts("\(harness.sources)/gone", sizes, more, host: host)
  }

  private mutating func answer() throws {
    let running = harness.transport.running
    guard !running.isEmpty else { return }
    let attempt = running[dice.below(running.count)].attempt
    let results: [AttemptResult] = [
      .answer(200), .answer(200), .answer(200, .cut), .answer(400), .answer(401), .answer(418), .answer(503),
      .failure(.beforeRequest), .failure(.afterRequestBegan), .failure(.afterRequestBegan, reused: true),
      .failure(.bodyMissing),
    ]
    let index = dice.below(results.count)
    known.removeAll { $0 == attempt }
    note(
      "answer \(attempt.entry).\(attempt.generation).\(attempt.ordinal) \(attempt.part ?? -1) with \(index)")
    if dice.below(3) == 0 { harness.transport.progress(attempt, Int64(dice.below(2))) }
    harness.transport.finish(attempt, results[index])
    harness.settle()
  }

  /// The one result of an attempt that was stopped.
  private mutating func late() throws {
    let running = Set(harness.transport.running.map(\.attempt))
    let stopped = known.filter { !running.contains($0) }
    guard !stopped.isEmpty else { return }
    let attempt = stopped[dice.below(stopped.count)]
    known.removeAll { $0 == attempt }
    harness.transport.finish(attempt, dice.below(2) == 0 ? .answer(200) : .answer(400))
    harness.settle()
  }

  private mutating func acknowledge() throws {
    let out = view.unacknowledged
    guard !out.isEmpty else { return }
    let eventID = out[dice.below(out.count)]
    if dice.below(4) == 0 {
      try harness.release([eventID])
    } else {
      try harness.acknowledge([eventID])
      view.acknowledged(eventID)
    }
    if dice.below(4) == 0 { try harness.subscribe(window: 1024) }
  }

  private mutating func relaunch() throws {
    try check()
    known = []
    try harness.relaunch(downtime: 60_000)
    view.startedAnew(try harness.rows())
    try harness.subscribe(window: 1024)
  }

  private mutating func toggleNetwork() throws {
    let kind: Network.Kind = dice.below(2) == 0 ? .cellular : .wifi
    try harness.call { .setNetwork(Network(kind: kind), from: harness.hostID, $0) }
    try harness.call { .setWifiOnly(dice.below(2) == 0, $0) }
  }

  private func require(_ holds: Bool, _ rule: @autoclosure () -> String) throws {
    if !holds { throw Broken(rule: rule()) }
  }

  /// What has to hold after every step.
  private mutating func check() throws {
    for event in harness.host.all { try view.take(event) }
    harness.host.clear()
    let now = harness.clock.now()
    let running = harness.transport.running
    for transmission in running where !known.contains(transmission.attempt) {
      known.append(transmission.attempt)
    }
    let gates = try harness.store.reader.gates()
    var inFlight: Set<AttemptID> = []
    for (entry, _) in try harness.store.reader.entries(after: 0, limit: 1000) {
      let row = Row(entry, gates: gates, now: now)
      try require(
        view.states[entry.id] == row.state, "\(entry.id) is \(row.state), told \(view.told(entry.id))")
      try checkParts(entry)
      if entry.isInFlight {
        inFlight.formUnion(entry.attemptsInFlight)
        try require(!gates.isPaused(entry.key), "\(entry.id) runs though paused")
      } else if entry.isLive && !gates.isPaused(entry.key) {
        try require(now.wall < entry.expiresAt, "\(entry.id) waits beyond its deadline")
      }
    }
    try require(inFlight == Set(running.map(\.attempt)), "the store and the transport differ")
    try require(running.count <= 4, "more than four at once")
    try require(
      try harness.stats().entries.values.reduce(0, +) == Int64(try harness.rows().count), "stats add up")
  }

  /// What is accepted of a plan stays so, is not sent again, and is what the row shows.
  private mutating func checkParts(_ entry: Entry) throws {
    guard let parts = entry.parts else { return }
    let open = Set(parts.open.map(\.index))
    let accepted = Set(0..<parts.begun).subtracting(open)
    let before = acceptedParts[[entry.number, parts.since]] ?? []
    try require(before.isSubset(of: accepted), "\(entry.id) lost a part that was accepted")
    acceptedParts[[entry.number, parts.since]] = accepted
    try require(parts.accepted == accepted.count, "\(entry.id) counts its parts wrongly")
    try require(parts.acceptedBytes <= entry.body.length, "\(entry.id) has more than all")
    try require(entry.attemptsInFlight.count <= 3, "\(entry.id) has more parts at once than it may")
    try require(entry.isInFlight == parts.hasInFlight, "\(entry.id) and its parts differ")
    guard case .settled(let kind, _) = entry.state else {
      return try require(entry.bytesSent == parts.acceptedBytes, "\(entry.id) shows other bytes")
    }
    try require(kind != .completed || parts.accepted == parts.count, "\(entry.id) is completed too early")
  }

  /// At the end everything is let go and answered: every cycle that was accepted has settled.
  private mutating func drain() throws {
    try harness.resume()
    try harness.resume("k0", "k1")
    try harness.call { .setNetwork(Network(kind: .wifi), from: harness.hostID, $0) }
    for _ in 0..<200 {
      try harness.patch(#"{"A":"last"}"#)
      while let next = harness.transport.running.first {
        harness.transport.finish(next.attempt, .answer(200))
        harness.settle()
      }
      harness.pass(10_000)
      if harness.engine.isDrained() && harness.transport.running.isEmpty { break }
    }
    try check()
    try require(harness.engine.isDrained(), "the queue does not drain")
    try harness.subscribe(window: 1024)
    try check()
    for (id, generation) in view.accepted where view.settled[id]?.contains(generation) != true {
      throw Broken(rule: "\(id) of generation \(generation) has no outcome")
    }
  }
}
