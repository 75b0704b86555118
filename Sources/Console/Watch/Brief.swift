import QueueModel

/// Numbers and reasons in the few columns of a row.
enum Brief {
  /// `0.4s`, `12s`, `3m20s`, `2h05m`, `13d04h`: at most 6 columns.
  static func duration(ms: Int64) -> String {
    if ms < 1000 { return "0.\(max(0, ms) / 100)s" }
    let seconds = ms / 1000
    if seconds < 60 { return "\(seconds)s" }
    if seconds < 3600 { return pair(seconds / 60, "m", seconds % 60, "s") }
    if seconds < 86_400 { return pair(seconds / 3600, "h", seconds % 3600 / 60, "m") }
    if seconds < 86_400 * 100 { return pair(seconds / 86_400, "d", seconds % 86_400 / 3600, "h") }
    return ">99d"
  }

  private static func pair(_ large: Int64, _ largeName: String, _ small: Int64, _ smallName: String) -> String
  {
    "\(large)\(largeName)\(small < 10 ? "0" : "")\(small)\(smallName)"
  }

  /// `17 B`, `4.1 MiB`, `310 KiB`: at most 8 columns.
  static func bytes(_ count: Int64) -> String {
    let text = Amount.bytes(count)
    guard let dot = text.firstIndex(of: "."), text.distance(from: text.startIndex, to: dot) > 2 else {
      return text
    }
    // Of three digits and more the tenths say nothing.
    return String(text[..<dot] + text[text.index(dot, offsetBy: 2)...])
  }

  /// Whole percents; 100 is all of it.
  static func percent(_ part: Int64, of whole: Int64) -> String {
    guard whole > 0 else { return "0%" }
    return "\(Int64(Double(min(part, whole)) / Double(whole) * 100))%"
  }

  /// What holds an entry back: the name of its gate, and when it opens.
  struct Hold: Equatable, Sendable {
    var gate: String
    /// Wall clock, ms.
    var until: Int64?
  }

  /// Why an entry waits.
  ///
  /// - Parameters:
  ///   - origin: Where it goes, made harmless.
  ///   - now: Wall clock of the queue, ms.
  static func reason(_ holds: [Hold], isServed: Bool, origin: String, now: Int64) -> String {
    let words = holds.map { Brief.words(of: $0, origin: origin, now: now) }
    if !isServed { return (words + ["nobody serves"]).joined(separator: ", ") }
    return words.isEmpty ? "goes next" : words.joined(separator: ", ")
  }

  private static func words(of hold: Hold, origin: String, now: Int64) -> String {
    switch ClosedGate.Name(rawValue: hold.gate) {
    case .queue: "queue paused"
    case .key: "key paused"
    case .group: "group paused"
    case .dependency: "waits for others"
    case .lane: "behind in its lane"
    case .network: "waits for wifi"
    case .credentials: "wants new credentials"
    case .backoff: "retry in \(Amount.duration(ms: (hold.until ?? now) - now))"
    case .outage:
      if let until = hold.until {
        "\(origin) fails, tried in \(Amount.duration(ms: until - now))"
      } else {
        "origin \(origin) is out"
      }
    case .slots: "no slot"
    case .origin: "\(origin) is busy"
    case .store: "storage fails"
    case nil: Printable.text(hold.gate)
    }
  }

  /// `https://example.org:443` without what is clear.
  static func origin(_ text: String) -> String {
    let parts = text.split(separator: "/", maxSplits: 2, omittingEmptySubsequences: false)
    guard parts.count == 3, parts[1].isEmpty else { return text }
    let host = parts[2]
    let usual = parts[0] == "https:" ? ":443" : ":80"
    return String(host.hasSuffix(usual) ? host.dropLast(usual.count) : host)
  }

  /// The short name of a state, at most 6 columns.
  static func state(_ state: Row.State) -> String {
    switch state {
    case .queued: "wait"
    case .running: "run"
    case .awaitingAuth: "auth"
    case .paused: "paused"
    case .completed: "done"
    case .error: "error"
    case .cancelled: "cancel"
    }
  }
}
