import JSONText
import QueueModel

/// What holds for many entries at once, and the configuration.
final class SettingsTable {
  private enum Name: String {
    case paused
    case wifiOnly = "wifi-only"
    case headerRevision = "header-revision"
    case configuration
  }

  private let get: Statement
  private let set: Statement
  private let pausedKeys: Statement
  private let pauseKey: Statement
  private let resumeKey: Statement
  private let selectPausedGroups: Statement
  private let pauseGroup: Statement
  private let resumeGroup: Statement
  private let patches: Statement
  private let insertPatch: Statement
  private let deletePatch: Statement
  private let outages: Statement
  private let setOutage: Statement
  private let endEveryOutage: Statement

  /// What `paused_group` holds; nil until somebody asks, and after a rollback.
  private var pausedGroupsRead: Set<EntryGroup>?

  private unowned let connection: Connection

  init(_ connection: Connection) {
    self.connection = connection
    func statement(_ sql: String) -> Statement { Statement(connection, sql) }
    get = statement("SELECT value FROM setting WHERE name = ?")
    set = statement("INSERT OR REPLACE INTO setting (name, value) VALUES (?, ?)")
    pausedKeys = statement("SELECT key FROM paused_key")
    pauseKey = statement("INSERT OR IGNORE INTO paused_key (key) VALUES (?)")
    resumeKey = statement("DELETE FROM paused_key WHERE key = ?")
    selectPausedGroups = statement("SELECT name FROM paused_group")
    pauseGroup = statement("INSERT OR IGNORE INTO paused_group (name) VALUES (?)")
    resumeGroup = statement("DELETE FROM paused_group WHERE name = ?")
    patches = statement("SELECT number, headers, keys, origin FROM header_patch ORDER BY number")
    insertPatch = statement(
      "INSERT OR IGNORE INTO header_patch (number, headers, keys, origin) VALUES (?, ?, ?, ?)")
    deletePatch = statement("DELETE FROM header_patch WHERE number = ?")
    outages = statement("SELECT origin, number, since, ended_at FROM outage")
    setOutage = statement(
      "INSERT OR REPLACE INTO outage (origin, number, since, ended_at) VALUES (?, ?, ?, ?)")
    endEveryOutage = statement("UPDATE outage SET ended_at = ? WHERE ended_at IS NULL")
  }

  /// The network is not stored: it is detected.
  func gates() throws(StoreError) -> Gates {
    var gates = Gates()
    gates.paused = try json(.paused)?.bool ?? false
    gates.wifiOnly = try json(.wifiOnly)?.bool ?? false
    gates.headerRevision = try headerRevision()
    gates.pausedKeys = Set(try storedPausedKeys())
    gates.pausedGroups = try pausedGroups()
    gates.patches = try storedPatches()
    for (origin, outage) in try outages.all({ _ in }, SettingsTable.readOutage) {
      gates.outages[origin] = outage
    }
    return gates
  }

  private static func readOutage(_ row: inout StatementRow) -> (Origin, Outage)? {
    (Origin(text: row.text()), Outage(number: row.int(), since: row.int(), endedAt: row.optionalInt()))
  }

  func savePause(_ gates: Gates) throws(StoreError) {
    try save(.paused, text: gates.paused ? "true" : "false")
    let stored = Set(try storedPausedKeys())
    for key in stored.subtracting(gates.pausedKeys) { try resumeKey.run { $0.bind(key.text) } }
    for key in gates.pausedKeys.subtracting(stored) { try pauseKey.run { $0.bind(key.text) } }
    let groups = try pausedGroups()
    for group in groups.subtracting(gates.pausedGroups) { try resumeGroup.run { $0.bind(group.text) } }
    for group in gates.pausedGroups.subtracting(groups) { try pauseGroup.run { $0.bind(group.text) } }
    pausedGroupsRead = gates.pausedGroups
  }

  /// Asked for each entry that is written.
  func pausedGroups() throws(StoreError) -> Set<EntryGroup> {
    if let pausedGroupsRead { return pausedGroupsRead }
    let groups = Set(try selectPausedGroups.all { EntryGroup($0.text()) })
    pausedGroupsRead = groups
    return groups
  }

  /// The transaction was rolled back.
  func forget() { pausedGroupsRead = nil }

  func save(wifiOnly: Bool) throws(StoreError) {
    try save(.wifiOnly, text: wifiOnly ? "true" : "false")
  }

  func savePatches(_ gates: Gates) throws(StoreError) {
    try save(.headerRevision, text: String(gates.headerRevision))
    let stored = Set(try storedPatches().map(\.number))
    for number in stored.subtracting(gates.patches.map(\.number)) {
      try deletePatch.run { $0.bind(number) }
    }
    for patch in gates.patches where !stored.contains(patch.number) {
      try insertPatch.run {
        $0.bind(patch.number)
        $0.bind(text: StoredLists.text(of: patch.headers)[...])
        if let keys = patch.keys { $0.bind(text: StoredLists.text(of: keys)[...]) } else { $0.bindNull() }
        $0.bind(patch.origin?.text)
      }
    }
  }

  func save(_ outage: Outage, of origin: Origin) throws(StoreError) {
    try setOutage.run {
      $0.bind(origin.text)
      $0.bind(outage.number)
      $0.bind(outage.since)
      $0.bind(outage.endedAt)
    }
  }

  func endOutages(at steady: Int64) throws(StoreError) {
    try endEveryOutage.run { $0.bind(steady) }
  }

  /// A text that cannot be read gives the defaults.
  func configuration() throws(StoreError) -> Configuration {
    guard let json = try json(.configuration), json.kind == .object else { return Configuration() }
    return Configuration(stored: json)
  }

  func save(_ configuration: Configuration) throws(StoreError) {
    try save(.configuration, text: String(decoding: configuration.storedText, as: UTF8.self))
  }

  func headerRevision() throws(StoreError) -> Int64 {
    // The next patch counts on from it.
    min(max(try json(.headerRevision)?.integer ?? 0, 0), StatementRow.largest)
  }

  /// The number of the newest stored patch that covers the bucket; 0 when none does.
  func coveringRevision(of bucket: Bucket.Identity) throws(StoreError) -> Int64 {
    try storedPatches().last { patch in
      (patch.keys?.contains(bucket.key) ?? true) && (patch.origin.map { $0 == bucket.origin } ?? true)
    }?.number ?? 0
  }

  private func storedPausedKeys() throws(StoreError) -> [EntryKey] {
    try pausedKeys.all { EntryKey($0.text()) }
  }

  private func storedPatches() throws(StoreError) -> [HeaderPatch] {
    try patches.all { SettingsTable.readPatch(&$0) }
  }

  private static func readPatch(_ row: inout StatementRow) -> HeaderPatch? {
    let number = row.int()
    guard let headers = StoredLists.headers(row.bytes()) else { return nil }
    let keys = row.optionalBytes().map { StoredLists.keys($0) }
    if case .some(nil) = keys { return nil }
    return HeaderPatch(
      number: number, headers: headers, keys: keys ?? nil, origin: row.optionalText().map { Origin(text: $0) }
    )
  }

  /// What `verify` says of the settings, header patches and outages that cannot be read, and so count as not
  /// there.
  func unreadable() throws(StoreError) -> (looked: Int64, problems: [String]) {
    var looked: Int64 = 0
    var problems: [String] = []
    for (name, found) in [
      ("header patches", try patches.refusals(SettingsTable.readPatch)),
      ("outages", try outages.refusals(SettingsTable.readOutage)),
    ] {
      looked += found.looked
      if found.refused > 0 { problems.append("\(found.refused) \(name) cannot be read") }
    }
    let settings = try Statement(connection, "SELECT name, value FROM setting").all { row in
      (name: row.text(), value: try? JSON(checking: row.bytes()))
    }
    for (name, value) in settings where !SettingsTable.isReadable(name, value) {
      problems.append("setting \(name) cannot be read")
    }
    return (looked + Int64(settings.count), problems)
  }

  /// Every name of this schema is known.
  private static func isReadable(_ name: String, _ value: JSON?) -> Bool {
    switch Name(rawValue: name) {
    case .paused, .wifiOnly: value?.bool != nil
    case .headerRevision: value?.integer.map { 0...StatementRow.largest ~= $0 } ?? false
    case .configuration: value.map { (try? ConfigurationChange(reading: $0)) != nil } ?? false
    case nil: false
    }
  }

  private func json(_ name: Name) throws(StoreError) -> JSON? {
    try get.first({ $0.bind(name.rawValue) }) { try? JSON(checking: $0.bytes()) }
  }

  private func save(_ name: Name, text: String) throws(StoreError) {
    try set.run {
      $0.bind(name.rawValue)
      $0.bind(text)
    }
  }
}
