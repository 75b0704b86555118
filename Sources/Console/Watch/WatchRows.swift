import JSONText
import QueueModel
import QueueStore

/// The rows of a screen: as the database has them, with what only the process that serves the queue knows.
struct WatchRows {
  private var shown: [Shown] = []
  private var holds: [String: [Brief.Hold]] = [:]
  private var endings: [String: String] = [:]
  var traffic = Traffic()
  /// What the machine is connected by, where somebody has told it.
  var network: String?

  private struct Shown {
    let row: Row
    let origin: String
    /// What the database tells of why it waits.
    let holds: [Brief.Hold]
    /// How it ended.
    let ending: String
    /// Wall clock of the queue when it was read, and the boot clock then, ms.
    let wall: Int64
    let readAt: Int64
  }

  // MARK: From the database

  mutating func take(_ reading: WatchReading, _ places: [Viewport.Place]) throws(Failure) {
    let now = LiveQueue.now()
    var known: [String: String] = [:]
    var shown: [Shown] = []
    for entry in try reading.entries(places) {
      let row = reading.queue.row(entry)
      var ending = ""
      if case .settled(_, let event) = entry.state {
        // It never changes, and may be long.
        if let text = endings[event] {
          ending = text
        } else {
          ending = try WatchRows.ending(of: entry, reading.queue)
        }
        known[event] = ending
      }
      let gates = try reading.queue.closedGates(for: entry).map {
        Brief.Hold(gate: $0.gate.rawValue, until: $0.until)
      }
      shown.append(
        Shown(
          row: row, origin: Printable.text(Brief.origin(entry.origin?.text ?? "")), holds: gates,
          ending: ending, wall: reading.queue.now.wall, readAt: now))
    }
    (self.shown, endings) = (shown, known)
    let ids = Set(shown.map(\.row.id.text))
    holds = holds.filter { ids.contains($0.key) }
  }

  private static func ending(of entry: Entry, _ queue: StoredQueue) throws(Failure) -> String {
    guard case .entry(let outcome) = try queue.outcome(of: entry)?.record else { return "acknowledged" }
    switch outcome.settlement {
    case .completed(let response): return "\(status(response)), not acknowledged"
    case .error(let kind, let message, let response):
      return "\(kind.rawValue)\(response.map { " \(status($0))" } ?? ""): \(message)"
    case .cancelled: return "not acknowledged"
    }
  }

  private static func status(_ response: ResponseRecord) -> String {
    response.status.map { "\($0)" } ?? "done"
  }

  // MARK: From the process that serves

  mutating func heard(state params: JSON, at now: Int64) {
    guard let id = params["id"]?.string else { return }
    holds[id] = nil
    traffic.heard(state: params, at: now)
  }

  mutating func explained(_ id: String, _ holds: [Brief.Hold]) { self.holds[id] = holds }

  /// What it has told is true no more.
  mutating func forgetTold() {
    holds = [:]
    traffic = Traffic()
    network = nil
  }

  var idsToExplain: [String] {
    shown.filter { WatchRows.waits($0.row.state) }.map(\.row.id.text)
  }

  /// Those in flight: of a small body no progress is told.
  var idsInFlight: [String] { shown.filter { $0.row.state == .running }.map(\.row.id.text) }

  private static func waits(_ state: Row.State) -> Bool {
    switch state {
    case .queued, .awaitingAuth, .paused: true
    case .running, .completed, .error, .cancelled: false
    }
  }

  // MARK: For the screen

  subscript(position: Int) -> Row? { shown.indices.contains(position) ? shown[position].row : nil }

  func items(at now: Int64, isServed: Bool) -> [Scene.Item] {
    shown.map { shown in
      let row = shown.row
      var item = Scene.Item(
        id: row.id.text, key: row.key.text, state: row.state, sent: row.bytesSent, total: row.totalBytes,
        attempts: row.attempts)
      if row.state == .running, isServed {
        item.sent = max(item.sent, traffic.bytes(of: row.id.text) ?? 0)
        item.speed = traffic.perSecond(of: row.id.text, at: now)
        if item.sent < item.total { item.timeLeft = Pace.timeLeft(item.total - item.sent, at: item.speed) }
      } else if row.state == .running {
        item.words = Brief.reason([], isServed: false, origin: "", now: 0)
      } else if WatchRows.waits(row.state) {
        let holds = isServed ? self.holds[row.id.text] ?? shown.holds : shown.holds
        item.words = Brief.reason(
          holds, isServed: isServed, origin: shown.origin, now: shown.wall + now - shown.readAt)
      } else {
        item.words = shown.ending
      }
      return item
    }
  }
}
