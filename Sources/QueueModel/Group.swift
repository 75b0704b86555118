/// Entries that belong together, as a whole (D48). A value; the store keeps its counts in the transactions
/// that change its members.
package struct Group: Sendable, Equatable {
  package var name: EntryGroup
  /// From 1; rises when a group that had settled has a live member again.
  package var generation: Int64
  /// Set while no member is live.
  package var settled: Settled?
  /// Members that have a row.
  package var rows: Int64
  package var live: Int64
  /// Members that have settled, also those whose rows have gone.
  package var counts: SettledCounts
  package var progress: GroupProgress
  /// From the first attempt of any member, ms.
  package var deadlineMs: Int64?
  /// Of any member in this generation; wall clock, ms.
  package var firstAttemptAt: Int64?
  /// Of the member that changed last: tells who is told of the group.
  package var key: EntryKey
  /// The connection that enqueued the newest member.
  package var host: HostID?

  package struct Settled: Sendable, Equatable {
    package var eventID: String
    package var isAcknowledged: Bool

    package init(eventID: String, isAcknowledged: Bool = false) {
      self.eventID = eventID
      self.isAcknowledged = isAcknowledged
    }
  }

  package init(
    name: EntryGroup, generation: Int64 = 1, settled: Settled? = nil, rows: Int64 = 0, live: Int64 = 0,
    counts: SettledCounts = SettledCounts(), progress: GroupProgress = GroupProgress(),
    deadlineMs: Int64? = nil, firstAttemptAt: Int64? = nil, key: EntryKey, host: HostID? = nil
  ) {
    self.name = name
    self.generation = generation
    self.settled = settled
    self.rows = rows
    self.live = live
    self.counts = counts
    self.progress = progress
    self.deadlineMs = deadlineMs
    self.firstAttemptAt = firstAttemptAt
    self.key = key
    self.host = host
  }

  /// Whether the rows of its completed members stay (D42): until its outcome is acknowledged.
  package var keepsRows: Bool { live > 0 || settled?.isAcknowledged != true }

  /// What has become of it by the changes of its members.
  package enum Course: Sendable {
    case goesOn
    /// Its last live member has settled.
    case settles
    /// A member is live again.
    case reopens
    /// One was, and has settled in the same transaction.
    case settlesAgain
    /// Nothing is left of it that anybody waits for.
    case goes
  }

  /// - Parameter hasSettled: A member did so in this transaction.
  package func course(hasSettled: Bool) -> Course {
    switch settled {
    case nil where live > 0: .goesOn
    // One that was told of before ends once more though its last member left it, so that no number of a
    // generation is given twice.
    case nil: counts.all > 0 || generation > 1 ? .settles : .goes
    case .some where live > 0: .reopens
    case .some where hasSettled: .settlesAgain
    case .some(let settled): settled.isAcknowledged && rows == 0 ? .goes : .goesOn
    }
  }

  /// The end of a generation.
  ///
  /// - Parameter failed: Members that have settled with an error, oldest first; at most `failedLimit`.
  package func settled(failed: [EntryID], now: Moment, randomness: any Randomness) -> (Group, GroupOutcome) {
    var group = self
    let eventID = randomness.uuid()
    group.settled = Settled(eventID: eventID)
    let outcome = GroupOutcome(
      eventID: eventID, group: name, key: key, at: now.wall, generation: generation, counts: counts,
      failed: failed, host: host)
    return (group, outcome)
  }

  /// Another generation begins. The store has let go of the time of the first attempt when it wrote the
  /// member.
  package func reopened() -> Group {
    var group = self
    group.generation += 1
    group.settled = nil
    return group
  }

  /// Ids of failed members in an outcome.
  package static let failedLimit = 100
  /// Live members in a result of `explain`.
  package static let explainedMembers = 100
}

/// Members by how they ended.
package struct SettledCounts: Sendable, Equatable {
  package var completed: Int64 = 0
  package var error: Int64 = 0
  package var cancelled: Int64 = 0

  package init(completed: Int64 = 0, error: Int64 = 0, cancelled: Int64 = 0) {
    self.completed = completed
    self.error = error
    self.cancelled = cancelled
  }

  package var all: Int64 { completed + error + cancelled }

  package mutating func count(_ kind: Outcome.Kind, by step: Int64) {
    switch kind {
    case .completed: completed += step
    case .error: error += step
    case .cancelled: cancelled += step
    }
  }
}
