import QueueModel
import QueueStore

/// The requests of entries in parts.
extension Turn {
  var partsAtOnce: Int { state.configuration.concurrency.partsPerEntry }

  /// Sends the next part of an entry that is due.
  mutating func startPart(of entry: Entry, _ writer: Writer) throws(StoreError) {
    guard let index = entry.nextPart(gates: state.gates, partsAtOnce: partsAtOnce, now: now) else {
      let decision = entry.rearranged(gates: state.gates, partsAtOnce: partsAtOnce, now: now)
      return try apply(decision, from: entry, writer)
    }
    guard let part = try writer.partRequest(of: entry, at: index) else {
      let decision = entry.damaged(part: index, now: now, randomness: engine.randomness)
      return try apply(decision, from: entry, writer)
    }
    let decision = entry.started(
      part: index, part, requestID: engine.randomness.uuid(), gates: state.gates, partsAtOnce: partsAtOnce,
      now: now)
    try writer.markServed(entry)
    try apply(decision, from: entry, writer)
    fly(
      decision.entry,
      decision.entry.transmission(
        part: index, part, gates: state.gates, timeouts: state.configuration.timeouts,
        outgoing: try writer.outgoing(decision.entry, range: part.range)))
  }
}
