import Glibc
import JSONText
import OuttrayProtocol
import QueueModel
import QueueStore

/// `outtray log`: what was recorded, and what happens.
enum History {
  static let command = Command(
    "log", "tell what was recorded, and with -f what happens",
    options: [
      .directory, Option("follow", nil, "go on with attempts and states as they happen", letter: "f"), .json,
    ],
    about: """
      Tells in the order of time what is recorded: diagnostics that no host has taken yet,
      and outcomes that none has acknowledged. Nothing is taken away. With -f it goes on with
      attempts and states as they happen, and with groups when their last member settles,
      from the process that serves the queue; while none does it waits for one. With --json
      each line is {method, params}: an event as on the wire without queries, headers and
      bodies, or a diagnostic.
      """,
    examples: ["outtray log --dir ./queue -f"],
    run: run)

  private static func run(_ arguments: Arguments, _ around: Surroundings) throws(Failure) -> Int32 {
    let directory = try arguments.directory()
    let pen = Pen(around.output, asJSON: arguments.has("json"))
    let queue = try StoredQueue(directory)
    guard arguments.has("follow") else {
      _ = try recorded(queue, pen)
      return Status.success
    }
    // Subscribed first, so that nothing falls between what is recorded and what happens.
    var live = try subscribed(directory, around)
    var last = try recorded(queue, pen)
    var hasSaidSo = false
    while true {
      if let live {
        hasSaidSo = false
        last = try follow(live, after: last, directory, pen)
      } else {
        around.remarkThatNobodyServes(&hasSaidSo)
      }
      usleep(200_000)
      live = try subscribed(directory, around)
    }
  }

  private static func subscribed(_ directory: String, _ around: Surroundings) throws(Failure) -> LiveQueue? {
    guard let live = around.live(in: directory) else { return nil }
    do throws(Failure) {
      try live.subscribe(to: [.attempt, .state, .group])
    } catch {
      guard error.isPassing else { throw error }
      return nil
    }
    return live
  }

  /// What the database has, merged by time. The number of the last diagnostic.
  private static func recorded(_ queue: StoredQueue, _ pen: Pen) throws(Failure) -> Int64 {
    let diagnostics = try queue.ask { reader throws(StoreError) in try reader.diagnostics() }
    var rest = diagnostics[...]
    var after: Int64 = 0
    while true {
      let from = after
      let outcomes = try queue.ask { reader throws(StoreError) in
        try reader.outcomes(after: from, keys: nil, limit: 256, maxBytes: 4 << 20)
      }
      for journaled in outcomes {
        while let (_, record) = rest.first, record.at <= journaled.record.at {
          try pen.write(record)
          rest.removeFirst()
        }
        try pen.write(journaled.kind, journaled.event, at: journaled.record.at)
      }
      guard let last = outcomes.last else { break }
      after = last.number
    }
    for (_, record) in rest { try pen.write(record) }
    return diagnostics.last?.number ?? 0
  }

  /// Until the process that serves the queue has ended. The number of the last diagnostic.
  private static func follow(
    _ live: LiveQueue, after number: Int64, _ directory: String, _ pen: Pen
  ) throws(Failure) -> Int64 {
    var last = number
    var looked = LiveQueue.now()
    while true {
      let event = live.next(within: max(0, looked + lookMs - LiveQueue.now()))
      switch event {
      case .ended: return last
      case .told(let name, let params): try tell(name, params, pen)
      case nil: break
      }
      // However much happens, diagnostics are not kept waiting.
      guard LiveQueue.now() >= looked + lookMs else { continue }
      looked = LiveQueue.now()
      let from = last
      let queue = try StoredQueue(directory)
      for (number, record) in try queue.ask({ reader throws(StoreError) in
        try reader.diagnostics(after: from)
      }) {
        try pen.write(record)
        last = number
      }
    }
  }

  private static func tell(_ name: String, _ params: JSON, _ pen: Pen) throws(Failure) {
    guard let event = OpenEvent(rawValue: name) else { return }
    // Of a group its end, not each step of its progress.
    if case .group = event, hasLiveMembers(params) { return }
    try pen.write(event, params, at: (params["at"] ?? params["updatedAt"])?.integer ?? wall())
  }

  private static func hasLiveMembers(_ group: JSON) -> Bool {
    (group["counts"] ?? .emptyObject).members().contains { name, count in
      Row.State(rawValue: name)?.isSettled != true && count.integer != 0
    }
  }

  /// Wall clock, ms, for events that do not say when.
  private static func wall() -> Int64 {
    var time = timespec()
    clock_gettime(CLOCK_REALTIME, &time)
    return Int64(time.tv_sec) * 1000 + Int64(time.tv_nsec) / 1_000_000
  }

  private static let lookMs: Int64 = 1000
}

/// Writes lines of the log.
private struct Pen {
  private let output: Output
  private let isJSON: Bool

  init(_ output: Output, asJSON: Bool) {
    self.output = output
    isJSON = asJSON
  }

  func write(_ event: OpenEvent, _ params: JSON, at wall: Int64) throws(Failure) {
    guard isJSON else {
      return try line(wall, event.rawValue, Pen.colour(of: params), event.words(of: params))
    }
    try output.object {
      $0.member("method", event.rawValue)
      $0.member("params") { $0.object { event.write(params, into: &$0) } }
    }
  }

  private static func colour(of params: JSON) -> Colour? {
    let word = (params["state"] ?? params["outcome"])?.string ?? ""
    return Row.State(rawValue: word)?.colour
  }

  func write(_ diagnostic: Diagnostic) throws(Failure) {
    guard isJSON else {
      let error = diagnostic.error.map { ": \($0)" } ?? ""
      let colour: Colour? =
        switch diagnostic.level {
        case .info: .faint
        case .warn: .yellow
        case .error: .red
        }
      return try line(
        diagnostic.at, diagnostic.level.rawValue, colour, Printable.text(diagnostic.message + error))
    }
    try output.object {
      $0.member("method", "diagnostic")
      $0.member("params") { diagnostic.write(into: &$0) }
    }
  }

  private func line(_ wall: Int64, _ kind: String, _ colour: Colour?, _ words: String) throws(Failure) {
    let room = String(repeating: " ", count: max(0, 7 - kind.count))
    try output.line("\(Amount.time(wall))  \(output.paint(kind, colour))\(room)  \(words)")
  }
}
