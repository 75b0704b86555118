import JSONText

@testable import QueueModel
@testable import QueueStore

/// Everything that is asked of a store while it runs, and what is made of the answers.
struct Questions {
  private let reader: Reader
  private let now = RowSample.now

  init(_ reader: Reader) { self.reader = reader }

  func askAll() throws(StoreError) {
    let gates = try reader.gates()
    let moment = try reader.moment()
    for entry in try reader.entries(after: .min, limit: 100).map(\.entry) + reader.running() {
      try ask(about: entry, gates, moment)
    }
    try askWhatIsDue(gates)
    try askForOutcomes()
    try askForGroups(gates)
    _ = try reader.configuration().storedText
    for diagnostic in try reader.diagnostics() { write { diagnostic.record.write(into: &$0) } }
    _ = try reader.oldestHeaderRevision()
    _ = try reader.unacknowledged()
    _ = try reader.tables.links.consequences.next()
    _ = try reader.tables.bodies.doomedNames(limit: 9)
    _ = try reader.tables.entries.highestNumber()
    _ = try reader.tables.outcomes.highestEntryNumber()
  }

  private func write(_ work: (inout JSONWriter) -> Void) { _ = JSON(writing: work) }

  private func ask(about entry: Entry, _ gates: Gates, _ moment: Moment) throws(StoreError) {
    for now in [now, moment] {
      let row = Row(entry, gates: gates, now: now)
      write { row.write(into: &$0) }
    }
    _ = try reader.storedData(of: entry)
    _ = try reader.outgoing(entry).length
    let parts = try reader.storedParts(of: entry) ?? []
    for (index, part) in parts.enumerated() {
      _ = try reader.outgoing(entry, range: part.range).length
      _ = try reader.partRequest(of: entry, at: index)
      _ = gates.headers(for: entry, part: part)
    }
    _ = gates.headers(for: entry)
    _ = try reader.edges(of: entry.number)
    _ = try reader.dependencies(of: entry.number)
    _ = try reader.bindings(of: entry.number)
    _ = try reader.isNeeded(entry)
    _ = try reader.place(of: entry.number)
    _ = try reader.before(entry.number)
    _ = try reader.outcomes(of: entry)
    _ = entry.attemptsInFlight
    _ = entry.weightInGroup
    _ = entry.shareDone
  }

  private func askWhatIsDue(_ gates: Gates) throws(StoreError) {
    let buckets = try reader.counts()
    _ = gates.countByState(buckets, apart: try reader.misplaced(of: gates.pausedGroups))
    for priority in Descriptor.Priority.allCases {
      _ = try reader.dueBuckets(priority, at: now.steady) { _ in true }
    }
    for bucket in buckets {
      _ = bucket.live
      _ = try reader.firstDue(in: bucket, at: now.steady, releasedBefore: 3, woken: (1, 1))
    }
    _ = try reader.expiring(at: .max, limit: 100) { _ in true }
    _ = try reader.nextDue(after: 0) { _ in true }
    _ = try reader.nextExpiry { _ in true }
    _ = try reader.nextWoken(origin: Origin(text: "https://a.example:443"), outage: 1) { _ in true }
  }

  private func askForOutcomes() throws(StoreError) {
    for outcome in try reader.outcomes(after: .min, keys: nil, limit: 100, maxBytes: .max) {
      switch outcome.record {
      case .entry(let record): write { record.write(into: &$0, deliveries: outcome.deliveries) }
      case .group: break
      }
    }
  }

  private func askForGroups(_ gates: Gates) throws(StoreError) {
    for (number, name) in try reader.liveGroups(after: .min, limit: 100) {
      guard let group = try reader.group(number) else { continue }
      let status = gates.status(of: group, try reader.members(of: number))
      write { status.write(into: &$0) }
      _ = try reader.group(named: name)
      _ = try reader.liveMembers(of: number, after: .min, limit: 100)
      _ = try reader.failedMembers(of: number, limit: 100)
    }
    _ = try reader.groupsApart()
    _ = try reader.overdueMembers(at: .max, limit: 100) { _ in true }
    _ = try reader.nextGroupDeadline { _ in true }
  }
}
