import JSONText
package import QueueModel
package import QueueStore

/// The queue as its database tells it, whether or not somebody serves it. What only a live engine knows is
/// not in it: transmissions in flight, and the network.
package struct StoredQueue {
  package let reader: Reader
  package let gates: Gates
  package let configuration: Configuration
  /// The queue's clocks when it was opened.
  package let now: Moment

  package init(_ directory: String) throws(Failure) {
    do throws(StoreError) {
      reader = try Reader(reading: directory)
      gates = try reader.gates()
      configuration = try reader.configuration()
      now = try reader.moment()
    } catch {
      throw Failure(error)
    }
  }

  package func row(_ entry: Entry) -> Row { Row(entry, gates: gates, now: now) }

  /// What holds an entry back, as far as the database tells.
  package func closedGates(for entry: Entry) throws(Failure) -> [ClosedGate] {
    try ask { reader throws(StoreError) in
      try reader.closed(for: entry, gates: gates, slots: Slots(configuration.concurrency), now: now)
    }
  }

  /// Asks the database, whose failure ends the command.
  package func ask<Value>(_ question: (Reader) throws(StoreError) -> Value) throws(Failure) -> Value {
    do throws(StoreError) {
      return try question(reader)
    } catch {
      throw Failure(error)
    }
  }

  package func entry(_ id: String) throws(Failure) -> Entry {
    let found = try ask { reader throws(StoreError) in try reader.entry(id: EntryID(id)) }
    guard let found else { throw StoredQueue.nobody(id) }
    return found
  }

  static func nobody(_ id: String) -> Failure {
    Failure(Status.no, "\(Printable.text(id)): names no entry")
  }

  /// How the last cycle of a settled entry ended; nil once that was acknowledged.
  package func outcome(of entry: Entry) throws(Failure) -> JournaledOutcome? {
    guard case .settled(_, let eventID) = entry.state else { return nil }
    return try ask { reader throws(StoreError) in try reader.journaled(eventID: eventID) }
  }
}
