import JSONText
import QueueModel

/// How fast bytes go, from what was told of them. All times are of one clock that does not jump, in ms.
struct Pace: Sendable {
  private var told: [(at: Int64, bytes: Int64)] = []

  /// The stretch that a speed is the mean of.
  static let window: Int64 = 5000
  /// A speed of less than this says nothing.
  static let least: Int64 = 500
  /// Told closer together, the last one counts, so that their number is bounded.
  static let grain: Int64 = 100

  /// `bytes` were sent since the beginning. Fewer than before are a new beginning.
  mutating func note(bytes: Int64, at now: Int64) {
    guard let last = told.last, bytes >= last.bytes, now >= last.at, now - last.at <= Pace.window else {
      told = [(now, bytes)]
      return
    }
    if told.count > 1, now - told[told.count - 2].at < Pace.grain {
      told[told.count - 1] = (now, bytes)
    } else {
      told.append((now, bytes))
    }
    // One from before the stretch is where it begins.
    while told.count > 2, told[1].at <= now - Pace.window { told.removeFirst() }
  }

  /// Bytes a second; nil when too little was told. Silence brings it down to nothing.
  func perSecond(at now: Int64) -> Int64? {
    guard let first = told.last(where: { $0.at <= now - Pace.window }) ?? told.first, let last = told.last
    else { return nil }
    if last.at <= now - Pace.window { return 0 }
    let span = now - first.at
    guard told.count > 1, span >= Pace.least else { return nil }
    return Int64(Double(last.bytes - first.bytes) * 1000 / Double(span))
  }

  /// ms until the rest has gone at this speed; nil when it never would, or is not known.
  static func timeLeft(_ bytes: Int64, at perSecond: Int64?) -> Int64? {
    guard let perSecond, perSecond > 0, bytes >= 0 else { return nil }
    let ms = (Double(bytes) * 1000 / Double(perSecond)).rounded(.up)
    return ms < 1e15 ? Int64(ms) : nil
  }
}

/// What goes out of all entries that run, off the screen as well.
struct Traffic: Sendable {
  private var sent: [String: (bytes: Int64, pace: Pace)] = [:]
  private var total: Int64 = 0
  private var pace = Pace()

  /// More than a queue ever sends at once; beyond it the count begins anew.
  static let most = 4096

  /// `bytes` of the body of an entry that runs have gone. What had gone when it was first told of is not
  /// counted as sent now.
  mutating func note(_ id: String, bytes: Int64, at now: Int64) {
    if sent.count >= Traffic.most && sent[id] == nil { sent = [:] }
    var known = sent[id] ?? (bytes, Pace())
    total += max(0, bytes - known.bytes)
    known.bytes = bytes
    known.pace.note(bytes: bytes, at: now)
    sent[id] = known
    pace.note(bytes: total, at: now)
  }

  /// It runs no more; `bytes` is what had gone at the end, nil when nothing more is known.
  mutating func end(_ id: String, bytes: Int64?, at now: Int64) {
    if let bytes, sent[id] != nil { note(id, bytes: bytes, at: now) }
    sent[id] = nil
  }

  /// The params of a `state` event.
  mutating func heard(state params: JSON, at now: Int64) {
    guard let id = params["id"]?.string else { return }
    switch params["state"]?.string.flatMap(Row.State.init(rawValue:)) {
    case .running: note(id, bytes: params["bytesSent"]?.integer ?? 0, at: now)
    case .completed: end(id, bytes: params["totalBytes"]?.integer, at: now)
    case .queued, .awaitingAuth, .paused, .error, .cancelled, nil: end(id, bytes: nil, at: now)
    }
  }

  /// Bytes a second, of all.
  func perSecond(at now: Int64) -> Int64? { pace.perSecond(at: now) }

  func perSecond(of id: String, at now: Int64) -> Int64? { sent[id]?.pace.perSecond(at: now) }

  /// nil when nothing was told of it.
  func bytes(of id: String) -> Int64? { sent[id]?.bytes }
}
