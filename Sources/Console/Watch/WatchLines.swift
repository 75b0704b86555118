import Glibc
import JSONText
import OuttrayProtocol
import QueueModel

/// The view for what is no terminal: a line for each change of state, and a sum now and then.
final class WatchLines {
  private let directory: String
  private let key: String?
  private let isJSON: Bool
  private let around: Surroundings
  private var contact: Contact?
  private var traffic = Traffic()
  private var summaryAt = Int64.min / 2
  /// Whether somebody serves, as it was told last.
  private var toldOf: Int64?

  /// ms between two sums.
  private static let interval: Int64 = 10_000
  private static let attach: Int64 = 300

  init(_ directory: String, key: String?, asJSON: Bool, _ around: Surroundings) {
    self.directory = directory
    self.key = key
    isJSON = asJSON
    self.around = around
  }

  func run() throws(Failure) -> Int32 {
    // What is wrong with the directory is told before anything else.
    _ = try WatchReading(directory, key: key)
    while true {
      if contact == nil {
        contact = Contact(to: directory, key: key, around)
        try tellOfServer()
      }
      if LiveQueue.now() >= summaryAt { try summarise() }
      let patience = max(0, summaryAt - LiveQueue.now())
      guard let contact else {
        usleep(UInt32(min(patience, WatchLines.attach)) * 1000)
        continue
      }
      var ready = pollfd(fd: contact.descriptor, events: Int16(POLLIN), revents: 0)
      poll(&ready, 1, contact.hasMore ? 0 : Int32(clamping: patience))
      for news in contact.news() { try tell(news) }
    }
  }

  private func tell(_ news: Contact.News) throws(Failure) {
    let now = LiveQueue.now()
    switch news {
    case .state(let params): try tell(state: params, at: now)
    case .progress(let id, let sent): traffic.note(id, bytes: sent, at: now)
    case .missed: try summarise()
    case .ended:
      contact = nil
      traffic = Traffic()
    case .holds, .network, .done, .refused: break
    }
  }

  private func tell(state params: JSON, at now: Int64) throws(Failure) {
    let id = params["id"]?.string ?? ""
    traffic.heard(state: params, at: now)
    let at = params["updatedAt"]?.integer ?? 0
    guard isJSON else {
      let state = params["state"]?.string ?? ""
      let word = around.output.paint(Printable.text(state), Row.State(rawValue: state)?.colour)
      let attempts = params["attempts"]?.integer ?? 0
      let tries = attempts > 0 ? ", attempts: \(attempts)" : ""
      return try around.output.line("\(Amount.time(at))  \(Printable.text(id)) is \(word)\(tries)")
    }
    try object("state") { $0.object { OpenEvent.state.write(params, into: &$0) } }
  }

  /// Says it once of each.
  private func tellOfServer() throws(Failure) {
    let process = contact?.process ?? 0
    guard process != toldOf else { return }
    toldOf = process
    guard isJSON else {
      return try around.output.line(
        process == 0 ? "nobody serves this queue" : "served by process \(process)")
    }
    try object(process == 0 ? "unserved" : "served") { params in
      params.object { if process != 0 { $0.member("pid", process) } }
    }
  }

  private func summarise() throws(Failure) {
    let now = LiveQueue.now()
    summaryAt = now + WatchLines.interval
    let reading = try WatchReading(directory, key: key)
    let gates = reading.queue.gates
    let speed = contact == nil ? nil : traffic.perSecond(at: now)
    guard isJSON else {
      let counts = Row.State.allCases.compactMap { state in
        reading.counts[state].map { "\($0) \(state.rawValue)" }
      }
      var words = [counts.isEmpty ? "no entries" : counts.joined(separator: ", ")]
      if let speed { words.append("\(Brief.bytes(speed))/s") }
      if gates.paused { words.append("queue paused") }
      if gates.wifiOnly { words.append("wifi only") }
      if contact == nil { words.append("nobody serves this queue") }
      return try around.output.line(
        "\(Amount.time(reading.queue.now.wall))  \(words.joined(separator: "; "))")
    }
    try object("summary") { params in
      params.object {
        $0.member("at", reading.queue.now.wall)
        $0.member("entries") { entries in
          entries.object {
            for state in Row.State.allCases { $0.member(state.rawValue, reading.counts[state] ?? 0) }
          }
        }
        if let speed { $0.member("bytesPerSecond", speed) }
        $0.member("paused", gates.paused)
        $0.member("wifiOnly", gates.wifiOnly)
        $0.member("served", contact != nil)
      }
    }
  }

  private func object(_ method: String, _ params: (inout JSONWriter) -> Void) throws(Failure) {
    try around.output.object {
      $0.member("method", method)
      $0.member("params", params)
    }
  }
}
