import QueueModel
import QueueStore

/// The requests of entries in parts.
extension Turn {
  var partsAtOnce: Int { state.configuration.concurrency.partsPerEntry }

  /// What an entry with parts in flight waits for was decided when the last of them began or ended. An outage
  /// that ends, and another number of parts at once, change it.
  mutating func rearrangeSending(_ writer: Writer) throws(StoreError) {
    let numbers = Set(state.flights.keys.filter { $0.part != nil }.map(\.entry))
    for number in numbers.sorted() {
      guard let entry = try writer.entry(number: number), entry.isInFlight else { continue }
      let decision = entry.rearranged(gates: state.gates, partsAtOnce: partsAtOnce, now: now)
      if decision.entry.state != entry.state { try apply(decision, from: entry, writer) }
    }
  }

  /// Sends the next part of an entry that is due.
  mutating func startPart(of entry: Entry, _ writer: Writer) throws(StoreError) {
    guard let index = entry.nextPart(gates: state.gates, partsAtOnce: partsAtOnce, now: now) else {
      let decision = entry.rearranged(gates: state.gates, partsAtOnce: partsAtOnce, now: now)
      return try apply(decision, from: entry, writer)
    }
    let part: PartRequest
    switch try partRequest(of: entry, at: index, writer) {
    case .success(let found?): part = found
    case .success(nil):
      let decision = entry.damaged(part: index, now: now, randomness: engine.randomness)
      return try apply(decision, from: entry, writer)
    case .failure(let failure): return try fail(entry, failure.settlement, writer)
    }
    // The bucket's origin is that of the part before, and this one may go elsewhere.
    guard state.takesMore(part.url.origin, entry.request.priority, at: now.steady) else {
      let decision = entry.waits(
        toSend: index, part, partsAtOnce: partsAtOnce, gates: state.gates, now: now)
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
