package import QueueModel

/// Questions about groups (D48). What the running transaction has changed so far is counted first.
extension Reader {
  private static var deadlinesAtOnce: Int { 32 }

  package func group(_ number: Int64) throws(StoreError) -> Group? {
    try flushCounts()
    return try tables.groups.group(number)
  }

  /// The group with its number; nil where there is none.
  package func group(named name: EntryGroup) throws(StoreError) -> (number: Int64, group: Group)? {
    guard let number = try tables.groups.number(of: name), let group = try group(number) else { return nil }
    return (number, group)
  }

  /// Live members by bucket.
  package func members(of group: Int64) throws(StoreError) -> [(bucket: Bucket, counts: MemberCounts)] {
    try flushCounts()
    var members: [(bucket: Bucket, counts: MemberCounts)] = []
    for (number, counts) in try tables.members.counts(of: group) {
      if let bucket = try tables.bucketQueries.bucket(number) { members.append((bucket, counts)) }
    }
    return members
  }

  /// Of paused groups, members that wait and are counted among others still, by the number of the bucket.
  package func misplaced(of groups: Set<EntryGroup>) throws(StoreError) -> [Int64: MemberCounts] {
    var misplaced: [Int64: MemberCounts] = [:]
    for group in groups {
      guard let number = try tables.groups.number(of: group) else { continue }
      try flushCounts()
      for (bucket, counts) in try tables.members.misplaced(of: number, isPaused: true) {
        misplaced[bucket, default: MemberCounts()].add(counts)
      }
    }
    return misplaced
  }

  /// Groups that some bucket still stands apart for, whether they are paused or not.
  package func groupsApart() throws(StoreError) -> [EntryGroup] { try tables.members.groupsApart() }

  /// Live members with numbers above `number`, oldest first.
  package func liveMembers(of group: Int64, after number: Int64, limit: Int) throws(StoreError) -> [Entry] {
    try entries(try tables.members.live(of: group, after: number, limit: limit))
  }

  /// Members with numbers above `number`, oldest first, settled or not.
  package func members(of group: Int64, after number: Int64, limit: Int) throws(StoreError) -> [Entry] {
    try entries(try tables.members.rows(of: group, after: number, limit: limit))
  }

  /// Members that have settled with an error, oldest first.
  package func failedMembers(of group: Int64, limit: Int) throws(StoreError) -> [EntryID] {
    try tables.members.failed(of: group, limit: limit)
  }

  /// Waiting members, in buckets that `isOpen` admits, of groups whose limit has passed (D49).
  package func overdueMembers(
    at wall: Int64, limit: Int, where isOpen: (Bucket) -> Bool
  ) throws(StoreError) -> [Entry] {
    try flushCounts()
    var found: [Entry] = []
    for group in try tables.members.overdue(at: wall) {
      for (bucket, counts) in try members(of: group) where counts.all > counts.running && isOpen(bucket) {
        guard found.count < limit else { return found }
        let numbers = try tables.members.waiting(of: group, in: bucket.number, limit: limit - found.count)
        found += try entries(numbers)
      }
    }
    return found
  }

  /// The earliest limit of a group that has waiting members in a bucket that `isOpen` admits. May be past.
  package func nextGroupDeadline(where isOpen: (Bucket) -> Bool) throws(StoreError) -> Int64? {
    try flushCounts()
    var last: (group: Int64, deadline: Int64)? = (0, .min)
    while let passed = last {
      let page = try tables.members.deadlines(after: passed, limit: Reader.deadlinesAtOnce)
      for (group, deadline) in page {
        let waits = try members(of: group).contains { $0.counts.all > $0.counts.running && isOpen($0.bucket) }
        if waits { return deadline }
      }
      last = page.count == Reader.deadlinesAtOnce ? page.last : nil
    }
    return nil
  }

  /// Groups with live members and numbers above `number`, by number.
  package func liveGroups(
    after number: Int64, limit: Int
  ) throws(StoreError) -> [(number: Int64, name: EntryGroup)] {
    try flushCounts()
    return try tables.groups.names(after: number, limit: limit)
  }

  func entries(_ numbers: [Int64]) throws(StoreError) -> [Entry] {
    var entries: [Entry] = []
    for number in numbers {
      if let entry = try tables.entries.entry(number: number) { entries.append(entry) }
    }
    return entries
  }
}
