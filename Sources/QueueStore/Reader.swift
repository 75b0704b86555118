package import JSONText
package import QueueModel

/// Questions to the store. Outside a write they see what is committed, inside one also what it has changed so
/// far. Every one may throw `StoreError.failed`. A damaged row reads as absent.
package class Reader {
  let tables: Tables
  let folder: BodyFolder

  init(_ tables: Tables, _ folder: BodyFolder) {
    self.tables = tables
    self.folder = folder
  }

  /// Reads the queue of a directory beside the process that holds it, without its lock: for commands that
  /// people type (D39). Each question sees the newest commit.
  package convenience init(reading path: String) throws(StoreError) {
    let directory = try QueueDirectory(existing: path)
    let database = try Database(reading: directory)
    self.init(
      database.tables, try BodyFolder(reading: directory, identity: database.meta.identity))
  }

  // MARK: Entries

  package func entry(id: EntryID) throws(StoreError) -> Entry? {
    try tables.entries.entry(id: id)?.entry
  }

  package func entry(number: Int64) throws(StoreError) -> Entry? {
    try tables.entries.entry(number: number)
  }

  /// Entries that are stored as running.
  package func running() throws(StoreError) -> [Entry] {
    try tables.entries.runningEntries()
  }

  /// At most `limit` entries with numbers above `number`, by number, each with the turn that wrote it. Fewer
  /// mean that there are no more.
  package func entries(
    after number: Int64, limit: Int, key: EntryKey? = nil, id: EntryID? = nil, group: EntryGroup? = nil
  ) throws(StoreError) -> [(entry: Entry, turn: Int64)] {
    if let id {
      guard limit > 0, let found = try tables.entries.entry(id: id), found.entry.number > number,
        key.map({ $0 == found.entry.key }) ?? true, group.map({ $0 == found.entry.group }) ?? true
      else { return [] }
      return [found]
    }
    if let group {
      guard let found = try tables.groups.number(of: group) else { return [] }
      return try tables.entries.entries(after: number, limit: limit, group: found)
    }
    guard let key else { return try tables.entries.entries(after: number, limit: limit) }
    try flushCounts()
    let buckets = try tables.bucketQueries.all(of: key).map(\.number)
    return try tables.entries.entries(after: number, limit: limit, buckets: buckets)
  }

  /// The lowest header revision of a live entry; nil when there is none. No entry needs a patch up to this
  /// number (D38).
  package func oldestHeaderRevision() throws(StoreError) -> Int64? {
    try tables.entries.oldestHeaderRevision()
  }

  // MARK: Bodies

  /// The bytes of a body in the database; empty when it has none there.
  package func bodyBytes(of entry: Entry) throws(StoreError) -> [UInt8] {
    try tables.bodies.bytes(of: entry.number) ?? []
  }

  /// The body of an entry that was enqueued with `data`, wherever it lies; nil for every other, and when it
  /// is gone or cannot be read.
  package func storedData(of entry: Entry?) throws(StoreError) -> JSON? {
    guard let entry, entry.body.kind == .data else { return nil }
    switch entry.body.place {
    case .none, .reference: return nil
    case .row: return try tables.bodies.bytes(of: entry.number).flatMap { try? JSON(checking: $0) }
    case .file(let name): return folder.contents(of: name).flatMap { try? JSON(checking: $0) }
    }
  }

  /// What an attempt of the entry sends. A body that is missing is named as a file that does not exist, which
  /// the transport reports.
  package func outgoing(_ entry: Entry) throws(StoreError) -> OutgoingBody {
    switch entry.body.place {
    case .none: return .none
    case .row:
      if let bytes = try tables.bodies.bytes(of: entry.number) { return .bytes(bytes) }
      return missing(entry, 0..<entry.body.length)
    case .file(let name):
      return .file(path: folder.path(of: name), offset: 0, length: entry.body.length)
    case .reference: return .referenced(referencedPieces(of: entry))
    }
  }

  /// The bytes around the files of a form come out of the description again, with the boundary they had.
  private func referencedPieces(of entry: Entry) -> [OutgoingBody.Piece] {
    let files = zip(entry.request.body.paths, entry.body.sources).map { path, stamp in
      OutgoingBody.Piece.file(path: path.bytes, stamp, range: 0..<stamp.size)
    }
    guard case .form(let fields) = entry.request.body else { return files }
    var rest = files[...]
    return Multipart(fields, contentType: entry.body.contentType ?? "").pieces.compactMap { piece in
      switch piece {
      case .bytes(let bytes): .bytes(bytes)
      case .file: rest.popFirst()
      }
    }
  }

  /// What an attempt of one part sends: its range of the entry's body, read from there (D26).
  package func outgoing(_ entry: Entry, range: Range<Int64>) throws(StoreError) -> OutgoingBody {
    switch try outgoing(entry) {
    case .none: return .none
    case .bytes(let bytes) where Int64(bytes.count) >= range.upperBound:
      return .bytes(Array(bytes[Int(range.lowerBound)..<Int(range.upperBound)]))
    case .bytes: return missing(entry, range)
    case .file(let path, _, _):
      return .file(path: path, offset: range.lowerBound, length: Int64(range.count))
    case .referenced(let pieces):
      guard case .file(let path, let stamp, _)? = pieces.first else { return missing(entry, range) }
      return .referenced([.file(path: path, stamp, range: range)])
    }
  }

  private func missing(_ entry: Entry, _ range: Range<Int64>) -> OutgoingBody {
    .file(
      path: folder.path(of: "missing-\(entry.number)"), offset: range.lowerBound,
      length: Int64(range.count))
  }

  // MARK: Parts

  /// The request of one part; nil when there is none, or its row is damaged.
  package func partRequest(of entry: Entry, at index: Int) throws(StoreError) -> PartRequest? {
    try tables.parts.request(of: entry.number, at: index)
  }

  /// The requests of an entry in parts; nil for every other.
  package func storedParts(of entry: Entry?) throws(StoreError) -> [PartRequest]? {
    guard let entry, entry.parts != nil else { return nil }
    return try tables.parts.requests(of: entry.number)
  }

  // MARK: Due work

  /// Buckets that may hold something to send now: due, let go by a header patch, or woken by the end of an
  /// outage. The least recently served first; only those that `isOpen` admits.
  package func dueBuckets(
    _ priority: Descriptor.Priority, at steady: Int64, limit: Int = 64, where isOpen: (Bucket) -> Bool
  ) throws(StoreError) -> [Bucket] {
    try flushCounts()
    return try tables.bucketQueries.ready(priority, at: steady, limit: limit, where: isOpen)
  }

  /// The entry of the bucket that goes next, or nil.
  ///
  /// - Parameters:
  ///   - covering: the newest header patch that covers the bucket; lets go of what older ones parked.
  ///   - woken: the number of the origin's last outage, if that has ended, and the spread reached.
  package func firstDue(
    in bucket: Bucket, at steady: Int64, releasedBefore covering: Int64,
    woken: (outage: Int64, spread: Double)?
  ) throws(StoreError) -> Entry? {
    if covering > 0, let entry = try tables.entries.firstReleased(in: bucket.number, before: covering) {
      return entry
    }
    if bucket.waking > 0, let woken,
      let entry = try tables.entries.firstWoken(in: bucket.number, by: woken.outage, spread: woken.spread)
    {
      return entry
    }
    let queued = try tables.entries.firstDue(in: bucket.number, at: steady)
    guard let next = bucket.nextPart, next <= steady else { return queued }
    if case .queued(let wait) = queued?.state, wait.due < next { return queued }
    return try tables.entries.firstSending(in: bucket.number, at: steady) ?? queued
  }

  /// Entries that do not run, in buckets that `isOpen` admits, whose deadline has come.
  package func expiring(
    at wall: Int64, limit: Int, where isOpen: (Bucket) -> Bool
  ) throws(StoreError) -> [Entry] {
    try flushCounts()
    let buckets = try tables.bucketQueries.expiring(at: wall, limit: limit, where: isOpen)
    return try expired(in: buckets, at: wall, limit: limit)
  }

  func expired(in buckets: [Bucket], at wall: Int64, limit: Int) throws(StoreError) -> [Entry] {
    var entries: [Entry] = []
    for bucket in buckets where entries.count < limit {
      entries += try tables.entries.expired(in: bucket.number, at: wall, limit: limit - entries.count)
    }
    return entries
  }

  /// The earliest due time after `steady` (queue time, ms) of a bucket that `isOpen` admits.
  package func nextDue(after steady: Int64, where isOpen: (Bucket) -> Bool) throws(StoreError) -> Int64? {
    try flushCounts()
    return try tables.bucketQueries.nextDue(after: steady, where: isOpen)
  }

  /// The earliest deadline (wall clock, ms) of an entry that does not run, in a bucket that `isOpen` admits.
  /// May be past.
  package func nextExpiry(where isOpen: (Bucket) -> Bool) throws(StoreError) -> Int64? {
    try flushCounts()
    return try tables.bucketQueries.nextExpiry(where: isOpen)
  }

  /// The least spread beyond `spread` among entries that wait for the end of this outage.
  package func nextWoken(
    origin: Origin, outage: Int64, beyond spread: Double = -1, where isOpen: (Bucket) -> Bool
  ) throws(StoreError) -> Double? {
    try flushCounts()
    var least: Double?
    for bucket in try tables.bucketQueries.waking(to: origin) where isOpen(bucket) {
      let next = try tables.entries.nextSpread(in: bucket.number, outage: outage, beyond: spread)
      if let next { least = min(least ?? next, next) }
    }
    return least
  }

  /// Every bucket with its counts.
  package func counts() throws(StoreError) -> [Bucket] {
    try flushCounts()
    return try tables.bucketQueries.all()
  }

  /// Counts of the running transaction reach the table before it is read.
  func flushCounts() throws(StoreError) {
    try tables.groups.flush()
    try tables.buckets.flush()
  }

  // MARK: Outcomes

  package func journaled(eventID: String) throws(StoreError) -> JournaledOutcome? {
    try tables.outcomes.journaled(eventID: eventID)
  }

  package func outcome(eventID: String) throws(StoreError) -> (number: Int64, record: Record)? {
    try tables.outcomes.journaled(eventID: eventID).map { ($0.number, $0.record) }
  }

  /// The number of an outcome, and of the entry that it is of; nil instead of that for a group's. Does not
  /// read what it says.
  package func subject(ofEvent eventID: String) throws(StoreError) -> (number: Int64, entry: Int64?)? {
    try tables.outcomes.subject(ofEvent: eventID)
  }

  /// Outcomes with numbers above `number`, oldest first: at most `limit` and `maxBytes` of text, but at least
  /// one. Empty means that there are no more.
  ///
  /// - Parameter known: By number, outcomes as they stand in the journal, which need not be read.
  package func outcomes(
    after number: Int64, keys: Set<EntryKey>?, limit: Int, maxBytes: Int,
    known: [Int64: JournaledOutcome] = [:]
  ) throws(StoreError) -> [JournaledOutcome] {
    guard limit > 0 else { return [] }
    return try tables.outcomes.outcomes(
      after: number, keys: keys, limit: limit, maxBytes: maxBytes, known: known)
  }

  /// Outcomes that nobody has acknowledged.
  package func unacknowledged() throws(StoreError) -> Int64 {
    try tables.outcomes.unacknowledged()
  }

  // MARK: Settings

  /// Everything but the network, which is detected.
  package func gates() throws(StoreError) -> Gates { try tables.settings.gates() }

  /// Defaults where nothing was stored.
  package func configuration() throws(StoreError) -> Configuration { try tables.settings.configuration() }
}
