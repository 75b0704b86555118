import JSONText

@testable import QueueModel
@testable import QueueStore

/// What is asked of a store while it runs, and what is made of the answers.
struct Questions {
  enum Subject: CaseIterable {
    case entries
    case due
    case outcomes
    case groups
    case settings
  }

  /// What of it is asked.
  struct Scope {
    var subjects: Set<Subject>
    /// Of the entries, the one in this place of their list counted around, or all of them.
    var entry: Int?

    static let everything = Scope(subjects: Set(Subject.allCases), entry: nil)
  }

  /// What was read, for `LostRows` to compare.
  struct Found {
    /// Of the kinds that were asked for.
    var counts: [LostRows.Kind: Int] = [:]
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

  mutating func ask(_ scope: Scope) throws(StoreError) -> Found {
    let gates = try reader.gates()
    note(gates)
    found.counts[.patches] = gates.patches.count
    found.counts[.outages] = gates.outages.count
    for subject in Subject.allCases where scope.subjects.contains(subject) {
      switch subject {
      case .entries: try askForEntries(gates, only: scope.entry)
      case .due: try askWhatIsDue(gates)
      case .outcomes: try askForOutcomes()
      case .groups: try askForGroups(gates)
      case .settings: try askForSettings()
      }
    }
    return found
  }

  private mutating func note(_ answer: some Any) {
    if notes { answers.append(String(describing: answer)) }
  }

  private mutating func write(_ work: (inout JSONWriter) -> Void) {
    let json = JSON(writing: work)
    if notes { answers.append(String(decoding: json.text, as: UTF8.self)) }
  }

  private mutating func askForEntries(_ gates: Gates, only place: Int?) throws(StoreError) {
    let moment = try reader.moment()
    let entries = try reader.entries(after: .min, limit: 100).map(\.entry)
    found.counts[.entries] = entries.count
    let running = try reader.running()
    note(running)
    let others = running.filter { one in !entries.contains { $0.number == one.number } }
    let chosen = place.flatMap { entries.isEmpty ? nil : [entries[$0 % entries.count]] } ?? entries
    for entry in chosen + others { try ask(about: entry, gates, moment) }
    note(try reader.tables.links.consequences.next())
    note(try reader.tables.bodies.doomedNames(limit: 9))
    note(try reader.tables.entries.highestNumber())
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
    var count = 0
    for outcome in try reader.outcomes(after: .min, keys: nil, limit: 100, maxBytes: .max) {
      count += 1
      switch outcome.record {
      case .entry(let record): write { record.write(into: &$0, deliveries: outcome.deliveries) }
      case .group: break
      }
    }
    found.counts[.outcomes] = count
    note(try reader.unacknowledged())
    note(try reader.tables.outcomes.highestEntryNumber())
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
  private mutating func askForSettings() throws(StoreError) {
    note(try reader.configuration().storedText)
    let diagnostics = try reader.diagnostics(after: .min)
    found.counts[.diagnostics] = diagnostics.count
    for diagnostic in diagnostics { write { diagnostic.record.write(into: &$0) } }
    note(try reader.oldestHeaderRevision())
  }
}
