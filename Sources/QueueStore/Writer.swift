package import QueueModel

/// The changes of one transaction; valid inside the closure of `QueueStore.write` only.
package final class Writer: Reader {
  private var lastEntryNumber: Int64
  private let unwritten: UnwrittenDiagnostics
  /// Records of this transaction that the log is to have once it stands.
  private var unlogged: [Diagnostic] = []
  /// The turn that is being written: the last committed one plus 1.
  package internal(set) var turn: Int64 = 0
  /// What rows that could not be read have left behind in this transaction.
  var abandoned = Abandoned()

  init(_ tables: Tables, _ folder: BodyFolder, _ unwritten: UnwrittenDiagnostics) {
    lastEntryNumber = 0
    self.unwritten = unwritten
    super.init(tables, folder)
  }

  /// Continues the numbers behind everything that is stored, and behind `given`.
  func continueNumbers(after given: Int64) throws(StoreError) {
    let stored = max(try tables.entries.highestNumber(), try tables.outcomes.highestEntryNumber())
    lastEntryNumber = max(given, stored)
  }

  // MARK: Entries

  /// A creation number that was never given in this process, whether or not the transaction succeeds.
  package func takeNumber() -> Int64 {
    lastEntryNumber += 1
    return lastEntryNumber
  }

  /// The creation number given last.
  package var lastNumber: Int64 { lastEntryNumber }

  /// Adds a new entry. A damaged row of the same id gives way.
  ///
  /// - Parameter body: The bytes of a staged body whose place is the row.
  package func insert(_ entry: Entry, body: [UInt8]? = nil) throws(StoreError) {
    let place = try tables.buckets.place(of: entry)
    let group = try tables.groups.number(for: entry)
    let row = EntryRow.Place(bucket: place.bucket, group: group, turn: turn)
    do throws(StoreError) {
      try tables.entries.insert(entry, body: body, in: row)
    } catch {
      guard error.isUniqueness, let damaged = try tables.entries.damaged(id: entry.id) else { throw error }
      try removeDamaged(damaged)
      try tables.entries.insert(entry, body: body, in: row)
    }
    tables.buckets.add(entry.state, expiresAt: entry.expiresAt, to: place)
    if let group {
      tables.groups.change(group) {
        $0.add(entry, in: place)
        $0.host = entry.host
      }
    }
    tables.bodies.claim(entry.body)
  }

  /// Replaces the row of `old` as it was read.
  package func update(_ new: Entry, from old: Entry) throws(StoreError) {
    let (place, oldPlace) = (try tables.buckets.place(of: new), try self.place(of: old))
    let group = try tables.groups.number(for: new)
    try tables.entries.update(
      new, from: old, in: EntryRow.Place(bucket: place.bucket, group: group, turn: turn),
      isMoved: place.bucket != oldPlace.bucket, withText: !new.hasSameText(as: old))
    tables.buckets.remove(old.state, from: oldPlace)
    tables.buckets.add(new.state, expiresAt: new.expiresAt, to: place)
    if let left = try tables.groups.number(for: old) {
      tables.groups.change(left) { $0.remove(old, from: oldPlace) }
    }
    if let group {
      tables.groups.change(group) {
        $0.add(new, in: place)
        if new.host != old.host || new.group != old.group { $0.host = new.host }
        if new.attempts > old.attempts { $0.noteAttempt(at: new.updatedAt) }
      }
      if !new.isLive && new.state != old.state { tables.groups.noteSettled(group) }
    }
    if new.body.place != old.body.place { tables.bodies.claim(new.body) }
  }

  /// Deletes the row and every byte of its body; a body file is unlinked after the commit.
  ///
  /// - Parameter leavesGroup: It does not count as a member any more; else what it has been still counts.
  package func delete(_ entry: Entry, leavesGroup: Bool = false) throws(StoreError) {
    let place = try place(of: entry)
    tables.buckets.remove(entry.state, from: place)
    if let group = try tables.groups.number(for: entry) {
      tables.groups.change(group) {
        if leavesGroup || entry.isLive { $0.remove(entry, from: place) } else { $0.removeRow() }
      }
    }
    try tables.bodies.releaseWithText(entry.body)
    try tables.entries.delete(entry.number, hasParts: entry.parts != nil)
    try tables.links.delete(of: entry.number)
  }

  /// Where the row of an entry counts: that of a member can lie behind a pause of its group.
  private func place(of entry: Entry) throws(StoreError) -> BucketTable.Place {
    guard entry.group != nil, let bucket = try tables.entries.bucket(of: entry.number) else {
      return try tables.buckets.place(of: entry)
    }
    return try tables.buckets.place(bucket)
  }

  /// As `Reader.expiring`. Rows that cannot be read go when their deadline has come, so that nobody waits for
  /// them.
  package override func expiring(
    at wall: Int64, limit: Int, where isOpen: (Bucket) -> Bool
  ) throws(StoreError) -> [Entry] {
    try flushCounts()
    let buckets = try tables.bucketQueries.expiring(at: wall, limit: limit, where: isOpen)
    let entries = try expired(in: buckets, at: wall, limit: limit)
    guard entries.isEmpty, limit > 0 else { return entries }
    var removed = 0
    for bucket in buckets {
      for number in try tables.entries.damaged(in: bucket.number, expiredAt: wall) {
        try removeDamaged(number)
        removed += 1
      }
    }
    if removed > 0 {
      let message = "\(removed) entries could not be read and were removed at their deadline"
      try addDiagnostic(Diagnostic(at: wall, level: .error, message: message), isBoot: false)
    }
    return entries
  }

  private func removeDamaged(_ number: Int64) throws(StoreError) {
    if let standing = try tables.entries.standing(number) {
      let place = try tables.buckets.place(standing.bucket)
      tables.buckets.remove(standing.state, from: place)
      if let group = standing.group { try removeDamagedMember(standing.state, of: group, from: place) }
    }
    try tables.entries.delete(number, hasParts: true)
    try noteAbandoned(by: number)
  }

  // MARK: Bodies

  /// Keeps the bytes of a staged body in the database, of an entry that is there; replaces what it had.
  package func putRowBody(_ number: Int64, _ bytes: [UInt8]) throws(StoreError) {
    try tables.bodies.put(bytes, of: number)
  }

  /// Keeps the requests of an entry in parts; they replace what it had. What is stored already is not written
  /// again.
  package func putParts(_ requests: [PartRequest], of number: Int64) throws(StoreError) {
    guard try tables.parts.requests(of: number) != requests else { return }
    try tables.parts.put(requests, of: number)
  }

  /// Lets go of a body of the entry; a file is unlinked after the commit.
  package func release(_ body: StagedBody, of number: Int64) throws(StoreError) {
    try tables.bodies.release(body, of: number)
  }

  /// Notes that the names of these files go once the transaction is committed (D28); then comes
  /// `QueueStore.removeMoved`.
  package func note(_ moved: [MovedSource]) throws(StoreError) {
    for source in moved { try tables.moved.note(source) }
  }

  // MARK: Due work

  /// Notes that an attempt of the entry begins: its bucket comes after the others now.
  package func markServed(_ entry: Entry) throws(StoreError) {
    tables.buckets.serve(try place(of: entry))
  }

  /// Lets go of everything that waits for credentials and that the newest patch, saved before, covers. Writes
  /// buckets, not entries (D1).
  package func releaseAwaitingAuth(keys: Set<EntryKey>?, origin: Origin?) throws(StoreError) {
    try tables.groups.flush()
    try tables.buckets.release(revision: try tables.settings.headerRevision(), keys: keys, origin: origin)
  }

  // MARK: Outcomes

  /// Journals an outcome.
  package func append(_ record: Record) throws(StoreError) -> JournaledOutcome {
    try tables.outcomes.append(record)
  }

  /// One more delivery.
  package func countDelivery(_ number: Int64) throws(StoreError) {
    try tables.outcomes.countDelivery(number)
  }

  package func deleteOutcome(_ number: Int64) throws(StoreError) {
    try tables.outcomes.delete(number)
  }

  /// Deletes the outcomes of the entry with this creation number. Their event ids, oldest first.
  package func deleteOutcomes(ofEntry number: Int64) throws(StoreError) -> [String] {
    try tables.outcomes.deleteAll(ofEntry: number)
  }

  // MARK: Settings and diagnostics

  /// `paused`, `pausedKeys` and `pausedGroups`. Members that wait are set apart later (`setApart`).
  package func savePause(_ gates: Gates) throws(StoreError) { try tables.settings.savePause(gates) }

  package func save(wifiOnly: Bool) throws(StoreError) { try tables.settings.save(wifiOnly: wifiOnly) }

  /// `patches` and `headerRevision`: adds what is new, erases what is no longer there.
  package func savePatches(_ gates: Gates) throws(StoreError) { try tables.settings.savePatches(gates) }

  package func save(_ outage: Outage, of origin: Origin) throws(StoreError) {
    try tables.settings.save(outage, of: origin)
  }

  /// Every outage that lasts ended at this queue time.
  package func endOutages(at steady: Int64) throws(StoreError) { try tables.settings.endOutages(at: steady) }

  package func save(_ configuration: Configuration) throws(StoreError) {
    try tables.settings.save(configuration)
  }

  /// Keeps the newest 50. A boot record replaces one that nobody took.
  package func addDiagnostic(_ diagnostic: Diagnostic, isBoot: Bool) throws(StoreError) {
    if !isBoot { unlogged.append(diagnostic) }
    try tables.diagnostics.add(diagnostic, isBoot: isBoot)
  }

  /// The transaction has ended: what was added since it began.
  func takeUnlogged() -> [Diagnostic] {
    defer { unlogged = [] }
    return unlogged
  }

  /// Every record, oldest first, and forgets them.
  package func takeDiagnostics() throws(StoreError) -> [Diagnostic] {
    try unwritten.store(in: tables.diagnostics)
    return try tables.diagnostics.takeAll()
  }
}

extension Entry {
  /// Nothing of what lies in `entry_text` differs.
  fileprivate func hasSameText(as other: Entry) -> Bool {
    vars == other.vars && lane == other.lane && expansion == other.expansion
      && (request === other.request || request.storedText == other.request.storedText)
  }
}
