package import QueueModel

/// Entries that the same gates hold: counted together, so that a gate closes a bucket and never single
/// entries.
package struct Bucket: Sendable {
  /// What the entries of one bucket have in common.
  package struct Identity: Hashable, Sendable {
    package var key: EntryKey
    package var origin: Origin
    package var priority: Descriptor.Priority
    /// As the entry sets it; nil follows the queue's setting.
    package var wifiOnly: Bool?
    /// Live members of a paused group stand apart from the others; nil for all others.
    package var pausedGroup: EntryGroup?

    package init(
      key: EntryKey, origin: Origin, priority: Descriptor.Priority, wifiOnly: Bool?,
      pausedGroup: EntryGroup? = nil
    ) {
      self.key = key
      self.origin = origin
      self.priority = priority
      self.wifiOnly = wifiOnly
      self.pausedGroup = pausedGroup
    }

    init(of entry: Entry, pausedGroups: Set<EntryGroup>) {
      key = entry.key
      origin = entry.origin ?? Origin(text: "")
      priority = entry.request.priority
      wifiOnly = entry.request.wifiOnly
      if let group = entry.group, entry.isLive, pausedGroups.contains(group) { pausedGroup = group }
    }
  }

  package var number: Int64
  package var identity: Identity

  package var key: EntryKey { identity.key }
  package var origin: Origin { identity.origin }
  package var priority: Descriptor.Priority { identity.priority }
  package var wifiOnly: Bool? { identity.wifiOnly }

  /// Whether its entries are paused. Members of a paused group that were not set apart yet are in other
  /// buckets (`Reader.misplaced`).
  package func isPaused(by gates: Gates) -> Bool { gates.isPaused(key, identity.pausedGroup) }

  /// Entries by stored state, but for those that wait for credentials.
  package var queued: Int64 = 0
  /// Wait for others: for those they come after, or that are before them in their lane.
  package var held: Int64 = 0
  package var running: Int64 = 0
  /// Wait for credentials that no patch has brought.
  package var awaitingAuth: Int64 = 0
  /// Waited for credentials; a newer patch has let them go.
  package var released: Int64 = 0
  package var completed: Int64 = 0
  package var error: Int64 = 0
  package var cancelled: Int64 = 0
  /// Entries that have not settled.
  package var members: MemberCounts {
    MemberCounts(queued: queued + held, running: running, awaitingAuth: awaitingAuth, released: released)
  }
  package var live: Int64 { members.all }
  /// Of `queued`, those that the end of an outage wakes.
  package var waking: Int64 = 0
  /// The earliest due time of `queued`, queue time in ms.
  package var due: Int64?
  /// The earliest time at which an entry that has parts in flight may send one more, queue time in ms.
  package var nextPart: Int64?
  /// The earliest deadline of `queued`, `held`, `awaitingAuth` and `released`, wall clock in ms.
  package var expiry: Int64?
}

extension Gates {
  /// Entries by derived state.
  ///
  /// - Parameter apart: Members of paused groups that are counted among others still, by the number of the
  ///   bucket.
  package func countByState(_ buckets: [Bucket], apart: [Int64: MemberCounts]) -> [Row.State: Int64] {
    var entries: [Row.State: Int64] = [:]
    for bucket in buckets {
      let paused = bucket.isPaused(by: self) ? bucket.members : apart[bucket.number] ?? MemberCounts()
      entries[.paused, default: 0] += paused.all
      entries[.queued, default: 0] += bucket.members.waiting - paused.waiting
      entries[.running, default: 0] += bucket.running - paused.running
      entries[.awaitingAuth, default: 0] += bucket.awaitingAuth - paused.awaitingAuth
      entries[.completed, default: 0] += bucket.completed
      entries[.error, default: 0] += bucket.error
      entries[.cancelled, default: 0] += bucket.cancelled
    }
    return entries
  }

  /// The group with its members by derived state, without what attempts in flight have sent.
  package func status(of group: Group, _ members: [(bucket: Bucket, counts: MemberCounts)]) -> GroupStatus {
    var counts: [Row.State: Int64] = [
      .completed: group.counts.completed, .error: group.counts.error, .cancelled: group.counts.cancelled,
    ]
    for (bucket, members) in members {
      if isPaused(bucket.key, group.name) {
        counts[.paused, default: 0] += members.all
      } else {
        counts[.queued, default: 0] += members.waiting
        counts[.running, default: 0] += members.running
        counts[.awaitingAuth, default: 0] += members.awaitingAuth
      }
    }
    return GroupStatus(group: group.name, counts: counts, progress: group.progress)
  }
}
