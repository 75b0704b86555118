package import JSONText

/// An entry as its host sees it (protocol.md section 2).
package struct Row: Sendable {
  package var id: EntryID
  package var key: EntryKey
  package var vars: JSON
  package var group: EntryGroup?
  package var lane: Lane?
  package var state: State
  /// Body bytes; of the attempt in flight only as the store knows them, the total once completed.
  package var bytesSent: Int64
  package var totalBytes: Int64
  package var attempts: Int64
  /// Wall clock, ms.
  package var updatedAt: Int64
  /// Wall clock, ms; only while the entry waits out a backoff and is not paused (D1, D2).
  package var nextAttemptAt: Int64?

  /// By wire name (D1).
  package enum State: String, Sendable, Hashable, CaseIterable {
    case queued, running
    case awaitingAuth = "awaiting-auth"
    case paused, completed, error, cancelled

    init(_ kind: Outcome.Kind) {
      switch kind {
      case .completed: self = .completed
      case .error: self = .error
      case .cancelled: self = .cancelled
      }
    }

    /// Nothing more becomes of it by itself; its outcome waits, or was acknowledged.
    package var isSettled: Bool {
      switch self {
      case .completed, .error, .cancelled: true
      case .queued, .running, .awaitingAuth, .paused: false
      }
    }

    /// Its name where entries are counted: a member of `stats`, and of the record of a start.
    package var countName: String {
      switch self {
      case .awaitingAuth: "awaitingAuth"
      case .queued, .running, .paused, .completed, .error, .cancelled: rawValue
      }
    }
  }

  package init(_ entry: borrowing Entry, gates: borrowing Gates, now: Moment) {
    id = entry.id
    key = entry.key
    vars = entry.vars
    group = entry.group
    lane = entry.lane
    state = gates.standing(of: entry)
    bytesSent = entry.bytesSent
    totalBytes = entry.totalBytes
    attempts = entry.attempts
    updatedAt = entry.updatedAt
    nextAttemptAt = state == .queued ? Self.nextAttempt(of: entry, gates: gates, now: now) : nil
  }

  /// Never behind the deadline, since no attempt follows that (B170).
  private static func nextAttempt(of entry: Entry, gates: Gates, now: Moment) -> Int64? {
    guard case .queued(let wait) = entry.state, wait.isBackoff, let due = gates.dueTime(of: entry),
      due > now.steady
    else { return nil }
    return min(now.wall(at: due), entry.deadline)
  }

  /// Bytes of the row in a frame, near enough for the size of a page.
  package var size: Int {
    let names = [id.text, key.text, group?.text, lane?.text].compactMap { $0?.utf8.count }
    return names.reduce(vars.count + 160, +)
  }

  package func write(into writer: inout JSONWriter) {
    writer.object { writeMembers(into: &$0) }
  }

  package func writeMembers(into writer: inout JSONWriter) {
    writer.member("id", id.text)
    writer.member("key", key.text)
    writer.member("vars", vars)
    if let group { writer.member("group", group.text) }
    if let lane { writer.member("lane", lane.text) }
    writer.member("state", state.rawValue)
    writer.member("bytesSent", bytesSent)
    writer.member("totalBytes", totalBytes)
    writer.member("attempts", attempts)
    writer.member("updatedAt", updatedAt)
    if let nextAttemptAt { writer.member("nextAttemptAt", nextAttemptAt) }
  }
}
