import JSONText

@testable import QueueModel
@testable import QueueStore

/// Everything that is asked of a store while it runs, and what is made of the answers.
struct Questions {
  /// What was read, for `LostRows` to count.
  struct Found {
    var entries = 0
    var patches = 0
    var outages = 0
    var outcomes = 0
    var diagnostics = 0
    /// Entries whose body should lie in the database and is not there.
    var withoutBody: [EntryID] = []
  }

  private let reader: Reader
  private let now = RowSample.now
  private let notes: Bool
  /// Every answer as a text, where they are noted.
  private(set) var answers: [String] = []
  private var found = Found()

  /// - Parameter notes: Whether `answers` are wanted, which takes long.
  init(_ reader: Reader, notes: Bool = false) {
    self.reader = reader
    self.notes = notes
  }

  mutating func askAll() throws(StoreError) -> Found {
    let gates = try reader.gates()
    note(gates)
    found.patches = gates.patches.count
    found.outages = gates.outages.count
    let moment = try reader.moment()
    let entries = try reader.entries(after: .min, limit: 100).map(\.entry)
    found.entries = entries.count
    let running = try reader.running()
    note(running)
    let others = running.filter { one in !entries.contains { $0.number == one.number } }
    for entry in entries + others { try ask(about: entry, gates, moment) }
    try askWhatIsDue(gates)
    try askForOutcomes()
    try askForGroups(gates)
    note(try reader.configuration().storedText)
    for diagnostic in try reader.diagnostics(after: .min) {
      found.diagnostics += 1
      write { diagnostic.record.write(into: &$0) }
    }
    note(try reader.oldestHeaderRevision())
    note(try reader.unacknowledged())
    note(try reader.tables.links.consequences.next())
    note(try reader.tables.bodies.doomedNames(limit: 9))
    note(try reader.tables.entries.highestNumber())
    note(try reader.tables.outcomes.highestEntryNumber())
    return found
  }

  private mutating func note(_ answer: some Any) {
    if notes { answers.append(String(describing: answer)) }
  }

  private mutating func write(_ work: (inout JSONWriter) -> Void) {
    let json = JSON(writing: work)
    if notes { answers.append(String(decoding: json.text, as: UTF8.self)) }
  }

  private mutating func ask(about entry: Entry, _ gates: Gates, _ moment: Moment) throws(StoreError) {
    note(entry)
    let row = Row(entry, gates: gates, now: now)
    write { row.write(into: &$0) }
    let rowNow = Row(entry, gates: gates, now: moment)
    // The clock's time in it is another one each time.
    _ = JSON(writing: { rowNow.write(into: &$0) })
    let data = try reader.storedData(of: entry)
    note(data)
    if data == nil, entry.body.kind == .data, entry.body.place == .row { found.withoutBody.append(entry.id) }
    note(try reader.outgoing(entry).length)
    let parts = try reader.storedParts(of: entry) ?? []
    for (index, part) in parts.enumerated() {
      note(try reader.outgoing(entry, range: part.range).length)
      note(try reader.partRequest(of: entry, at: index))
      note(gates.headers(for: entry, part: part))
    }
    note(gates.headers(for: entry))
    note(try reader.edges(of: entry.number))
    note(try reader.dependencies(of: entry.number))
    note(try reader.bindings(of: entry.number))
    note(try reader.isNeeded(entry))
    note(try reader.place(of: entry.number))
    note(try reader.before(entry.number))
    note(try reader.outcomes(of: entry))
    note(entry.attemptsInFlight)
    note(entry.weightInGroup)
    note(entry.shareDone)
  }

  private mutating func askWhatIsDue(_ gates: Gates) throws(StoreError) {
    let buckets = try reader.counts()
    let counts = gates.countByState(buckets, apart: try reader.misplaced(of: gates.pausedGroups))
    // In an order of its own each time.
    note(Row.State.allCases.map { counts[$0] })
    for priority in Descriptor.Priority.allCases {
      note(try reader.dueBuckets(priority, at: now.steady) { _ in true })
    }
    for bucket in buckets {
      note(bucket.live)
      note(try reader.firstDue(in: bucket, at: now.steady, releasedBefore: 3, woken: (1, 1)))
    }
    note(try reader.expiring(at: .max, limit: 100) { _ in true })
    note(try reader.nextDue(after: 0) { _ in true })
    note(try reader.nextExpiry { _ in true })
    note(try reader.nextWoken(origin: Origin(text: "https://a.example:443"), outage: 1) { _ in true })
  }

  private mutating func askForOutcomes() throws(StoreError) {
    for outcome in try reader.outcomes(after: .min, keys: nil, limit: 100, maxBytes: .max) {
      found.outcomes += 1
      switch outcome.record {
      case .entry(let record): write { record.write(into: &$0, deliveries: outcome.deliveries) }
      case .group: break
      }
    }
  }

  private mutating func askForGroups(_ gates: Gates) throws(StoreError) {
    for (number, name) in try reader.liveGroups(after: .min, limit: 100) {
      guard let group = try reader.group(number) else { continue }
      let status = gates.status(of: group, try reader.members(of: number))
      write { status.write(into: &$0) }
      note(try reader.group(named: name))
      note(try reader.liveMembers(of: number, after: .min, limit: 100))
      note(try reader.failedMembers(of: number, limit: 100))
    }
    note(try reader.groupsApart())
    note(try reader.overdueMembers(at: .max, limit: 100) { _ in true })
    note(try reader.nextGroupDeadline { _ in true })
  }
}
