import QueueModel

/// The counts, earliest due time and earliest deadline of each bucket, kept in the transaction that changes
/// the entries. Changes gather in memory and are written before a bucket is read and before the commit, a
/// statement or two a bucket.
final class BucketTable {
  /// Where an entry counts.
  struct Place {
    var bucket: Int64
    var covering: Int64
  }

  private let selectPlace: Statement
  private let selectCovering: Statement
  private let insertRow: Statement
  private let updateRow: Statement
  private let updateCounts: Statement
  private let updateTimes: Statement
  private let deleteEmpty: Statement
  private let releaseKey: Statement
  private let releaseAll: Statement
  private let highest: Statement

  /// Buckets met since the cache was emptied; bounded.
  private var places: [Bucket.Identity: Place] = [:]
  private var changes: [Int64: BucketChange] = [:]
  private var lastNumber: Int64 = 0
  private var lastServed: Int64 = 0
  /// Which patch covers a bucket, asked when one is made, and which groups are paused.
  private let settings: SettingsTable

  private static let placeLimit = 4096

  init(_ connection: Connection, _ settings: SettingsTable) throws(StoreError) {
    self.settings = settings
    func statement(_ sql: String) -> Statement { Statement(connection, sql) }
    selectPlace = statement(
      """
      SELECT number, covering FROM bucket
      WHERE key = ? AND origin = ? AND priority = ? AND wifi_only = ? AND paused_group = ?
      """)
    selectCovering = statement("SELECT covering FROM bucket WHERE number = ?")
    insertRow = statement(
      """
      INSERT INTO bucket (number, key, origin, priority, wifi_only, paused_group, covering)
      VALUES (?, ?, ?, ?, ?, ?, ?)
      """)
    updateRow = statement(BucketChange.sql)
    updateCounts = statement(BucketChange.countsSQL)
    updateTimes = statement(BucketChange.timesSQL)
    deleteEmpty = statement(
      """
      DELETE FROM bucket WHERE number = ?
        AND queued + held + running + awaiting_auth + released + completed + error + cancelled = 0
      """)
    let release = """
      UPDATE bucket SET released = released + awaiting_auth, awaiting_auth = 0, covering = ?1
      WHERE (?2 IS NULL OR origin = ?2)
      """
    releaseKey = statement("\(release) AND key = ?3")
    releaseAll = statement(release)
    highest = statement("SELECT ifnull(max(number), 0), ifnull(max(served), 0) FROM bucket")
    try highest.each({ _ in }) { row in
      lastNumber = row.int()
      lastServed = row.int()
      return false
    }
  }

  /// Where the entry counts; made if there is no such bucket.
  func place(of entry: Entry) throws(StoreError) -> Place {
    try place(of: Bucket.Identity(of: entry, pausedGroups: settings.pausedGroups()))
  }

  /// The bucket of this number as a place.
  func place(_ bucket: Int64) throws(StoreError) -> Place {
    Place(bucket: bucket, covering: try selectCovering.first({ $0.bind(bucket) }) { $0.int() } ?? 0)
  }

  /// Notes that an entry in this state counts there, after its row was written.
  func add(_ state: Entry.State, expiresAt: Int64, to place: Place) {
    changes[place.bucket, default: BucketChange()].add(
      state, expiresAt: expiresAt, covering: place.covering)
  }

  /// Notes that an entry in this state does not count there any more.
  func remove(_ state: Entry.State, from place: Place) {
    changes[place.bucket, default: BucketChange()].remove(state, covering: place.covering)
  }

  /// Notes that an attempt of an entry there begins, so that other buckets come first.
  func serve(_ place: Place) {
    lastServed += 1
    changes[place.bucket, default: BucketChange()].served = lastServed
  }

  /// Everything that a patch of this revision covers is let go.
  func release(revision: Int64, keys: Set<EntryKey>?, origin: Origin?) throws(StoreError) {
    try flush()
    places.removeAll()
    guard let keys else {
      return try releaseAll.run {
        $0.bind(revision)
        $0.bind(origin?.text)
      }
    }
    for key in keys {
      try releaseKey.run {
        $0.bind(revision)
        $0.bind(origin?.text)
        $0.bind(key.text)
      }
    }
  }

  /// Writes what has gathered.
  func flush() throws(StoreError) {
    guard !changes.isEmpty else { return }
    for (number, change) in changes {
      if change.isSimple {
        try updateCounts.run { change.bindCounts(to: &$0, bucket: number) }
        if change.hasTimes { try updateTimes.run { change.bindTimes(to: &$0, bucket: number) } }
      } else {
        try updateRow.run { change.bind(to: &$0, bucket: number) }
      }
      guard change.mayHaveEmptied else { continue }
      try deleteEmpty.run { $0.bind(number) }
    }
    // A bucket that was deleted must not be found again.
    if changes.values.contains(where: \.mayHaveEmptied) { places.removeAll() }
    changes.removeAll(keepingCapacity: true)
  }

  /// The transaction was rolled back.
  func forget() {
    changes.removeAll()
    places.removeAll()
  }

  /// Where entries count that have this in common; made if there is no such bucket.
  func place(of identity: Bucket.Identity) throws(StoreError) -> Place {
    if let place = places[identity] { return place }
    let stored = try selectPlace.first({
      $0.bind(identity.key.text)
      $0.bind(identity.origin.text)
      $0.bind(identity.priority.rawValue)
      $0.bind(BucketTable.code(of: identity.wifiOnly))
      $0.bind(identity.pausedGroup?.text ?? "")
    }) { Place(bucket: $0.int(), covering: $0.int()) }
    let place = if let stored { stored } else { try make(identity) }
    if places.count >= BucketTable.placeLimit { places.removeAll() }
    places[identity] = place
    return place
  }

  private func make(_ identity: Bucket.Identity) throws(StoreError) -> Place {
    lastNumber += 1
    let place = Place(bucket: lastNumber, covering: try settings.coveringRevision(of: identity))
    try insertRow.run {
      $0.bind(place.bucket)
      $0.bind(identity.key.text)
      $0.bind(identity.origin.text)
      $0.bind(identity.priority.rawValue)
      $0.bind(BucketTable.code(of: identity.wifiOnly))
      $0.bind(identity.pausedGroup?.text ?? "")
      $0.bind(place.covering)
    }
    return place
  }

  static func code(of wifiOnly: Bool?) -> Int64 {
    switch wifiOnly {
    case nil: -1
    case false?: 0
    case true?: 1
    }
  }
}
