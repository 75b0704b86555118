package import JSONText

/// How one generation of a group ended: journaled in the transaction in which its last live member settled,
/// delivered until acknowledged.
package struct GroupOutcome: Sendable, Equatable {
  /// Version 4 UUID.
  package var eventID: String
  package var group: EntryGroup
  /// Of the member that settled last; for subscriptions to keys.
  package var key: EntryKey
  /// Wall clock, ms.
  package var at: Int64
  package var generation: Int64
  package var counts: SettledCounts
  /// Members that have settled with an error, oldest first; the first 100.
  package var failed: [EntryID]
  /// The connection that it goes to first; never told to a host.
  package var host: HostID?

  package init(
    eventID: String, group: EntryGroup, key: EntryKey, at: Int64, generation: Int64, counts: SettledCounts,
    failed: [EntryID], host: HostID? = nil
  ) {
    self.eventID = eventID
    self.group = group
    self.key = key
    self.at = at
    self.generation = generation
    self.counts = counts
    self.failed = failed
    self.host = host
  }

  /// Writes the params of the `groupSettled` event.
  ///
  /// - Parameter deliveries: How often the outcome was sent to a host, this time included.
  package func write(into writer: inout JSONWriter, deliveries: Int64) {
    writer.object { event in
      writeMembers(into: &event)
      event.member("deliveries", deliveries)
    }
  }

  /// The JSON text of all of it; `init(stored:)` is its exact inverse. Its `kind` tells it from the outcome
  /// of an entry.
  package var storedText: [UInt8] {
    var writer = JSONWriter()
    writer.object { stored in
      stored.member("kind", GroupOutcome.kind)
      writeMembers(into: &stored)
      stored.member("key", key.text)
      if let host { stored.member("host", "\(host.number)") }
    }
    return writer.bytes
  }

  static let kind = "group"

  private func writeMembers(into event: inout JSONWriter) {
    event.member("eventId", eventID)
    event.member("group", group.text)
    event.member("at", at)
    event.member("generation", generation)
    event.member("counts") { counts in
      counts.object {
        $0.member("completed", self.counts.completed)
        $0.member("error", self.counts.error)
        $0.member("cancelled", self.counts.cancelled)
      }
    }
    event.member("failed") { $0.array { for id in failed { $0.value(id.text) } } }
  }

  /// Reads back what `storedText` gave.
  ///
  /// - Throws: The member that is missing or cannot be an outcome's; the row is damaged then.
  package init(stored json: JSON) throws(InvalidInput) { try self.init(stored: json.indexed()) }

  init(stored json: JSON.Index) throws(InvalidInput) {
    self.init(
      eventID: try json.stored("eventId", \.string), group: EntryGroup(try json.stored("group", \.string)),
      key: EntryKey(try json.stored("key", \.string)), at: try json.stored("at", \.integer),
      generation: try json.stored("generation", \.integer),
      counts: try json.stored("counts") { SettledCounts(stored: $0) },
      failed: try json.stored("failed") { $0 }.elements().compactMap { $0.string.map { EntryID($0) } },
      host: json["host"]?.string.flatMap { Int64($0) }.map(HostID.init))
  }
}

extension SettledCounts {
  fileprivate init?(stored json: JSON) {
    guard let completed = json["completed"]?.integer, let error = json["error"]?.integer,
      let cancelled = json["cancelled"]?.integer
    else { return nil }
    self.init(completed: completed, error: error, cancelled: cancelled)
  }
}

/// What the journal holds: the outcome of an entry, or of a group.
package enum Record: Sendable {
  case entry(Outcome)
  case group(GroupOutcome)

  package var eventID: String {
    switch self {
    case .entry(let outcome): outcome.eventID
    case .group(let outcome): outcome.eventID
    }
  }

  /// Wall clock, ms.
  package var at: Int64 {
    switch self {
    case .entry(let outcome): outcome.at
    case .group(let outcome): outcome.at
    }
  }

  /// Which subscriptions it concerns.
  package var key: EntryKey {
    switch self {
    case .entry(let outcome): outcome.key
    case .group(let outcome): outcome.key
    }
  }

  /// The connection that it goes to first.
  package var host: HostID? {
    switch self {
    case .entry(let outcome): outcome.host
    case .group(let outcome): outcome.host
    }
  }

  package var storedText: [UInt8] {
    switch self {
    case .entry(let outcome): outcome.storedText
    case .group(let outcome): outcome.storedText
    }
  }

  /// - Throws: As the two outcomes do.
  package init(stored json: JSON) throws(InvalidInput) {
    let members = json.indexed()
    if members["kind"]?.string == GroupOutcome.kind {
      self = .group(try GroupOutcome(stored: members))
    } else {
      self = .entry(try Outcome(stored: members))
    }
  }
}
