package import QueueModel

/// Changes of groups as a whole (D48, D49). Counts change with the members.
extension Writer {
  /// Groups whose members this transaction has changed so far.
  package func changedGroups() -> [Int64] { tables.groups.changed.sorted() }

  /// Whether a member has settled in this transaction.
  package func hasSettledMember(_ number: Int64) -> Bool { tables.groups.settling.contains(number) }

  package func save(_ group: Group, number: Int64) throws(StoreError) {
    try flushCounts()
    try tables.groups.save(group, number: number)
  }

  /// Nothing is left of the group.
  package func deleteGroup(_ number: Int64) throws(StoreError) {
    try flushCounts()
    try tables.groups.delete(number)
  }

  /// The limit counts for members of now and later, from the first attempt on.
  package func save(deadlineMs: Int64, of group: EntryGroup) throws(StoreError) {
    guard let number = try tables.groups.number(of: group) else { return }
    try tables.groups.save(deadlineMs: deadlineMs, of: number)
  }

  /// Notes that a host has the outcome.
  package func acknowledge(_ outcome: GroupOutcome) throws(StoreError) {
    try flushCounts()
    try tables.groups.acknowledge(outcome)
  }

  /// Sets waiting members of a paused group apart from the others, or puts those of one that goes on back; at
  /// most `limit`. True when none is left.
  package func setApart(_ group: EntryGroup, isPaused: Bool, limit: Int) throws(StoreError) -> Bool {
    guard let number = try tables.groups.number(of: group) else { return true }
    try flushCounts()
    var left = limit
    for (bucket, _) in try tables.members.misplaced(of: number, isPaused: isPaused) {
      guard var identity = try tables.bucketQueries.bucket(bucket)?.identity else { continue }
      identity.pausedGroup = isPaused ? group : nil
      let new = try tables.buckets.place(of: identity)
      let old = try tables.buckets.place(bucket)
      let members = try tables.members.waiting(of: number, in: bucket, limit: left)
      for member in members { try move(member, of: number, from: old, to: new) }
      left -= members.count
      if left == 0 { return false }
    }
    return true
  }

  private func move(
    _ number: Int64, of group: Int64, from old: BucketTable.Place, to new: BucketTable.Place
  ) throws(StoreError) {
    guard let standing = try tables.entries.standing(number) else { return }
    try tables.members.move(number, to: new.bucket, hasParts: standing.isInParts)
    tables.buckets.remove(standing.state, from: old)
    tables.buckets.add(standing.state, expiresAt: standing.expiresAt, to: new)
    tables.groups.change(group) { $0.move(standing.state, from: old, to: new) }
  }

  /// The next kept members of a group whose outcome is acknowledged, to go (D42); at most `limit`, and none
  /// when the group has none left. Not given again. nil when no group is left.
  package func takeKeptOfSettled(limit: Int) throws(StoreError) -> [Entry]? {
    guard let (group, through) = try tables.members.forgetting() else { return nil }
    let numbers = try tables.members.kept(of: group, after: through, limit: limit)
    try tables.members.save(forgottenThrough: numbers.count < limit ? nil : numbers.last, of: group)
    return try entries(numbers)
  }

  /// A member that cannot be read is gone; what it weighed is not known.
  func removeDamagedMember(
    _ state: Entry.State, of group: Int64, from place: BucketTable.Place
  ) throws(StoreError) {
    tables.groups.change(group) {
      $0.count(state, in: place, by: -1)
      $0.removeRow()
    }
  }
}
