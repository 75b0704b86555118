import QueueModel
import QueueStore

/// Origins side by side: none is asked for more than it takes, and none holds up another (D25, D51, D52).
extension EngineState {
  /// Whether one more attempt may go to the origin. During an outage one at a time probes (D16).
  func takesMore(_ origin: Origin, _ priority: Descriptor.Priority, at steady: Int64) -> Bool {
    !slots.isFull(origin) && slots.hasRoom(for: priority, to: origin) && slots.admits(origin, at: steady)
      && (!gates.hasOutage(origin) || slots.running(to: origin) == 0)
  }

  /// Those whose origin has the fewest attempts come first, so that a slow one does not gather the slots;
  /// equals stay in the order in which they were served.
  func fewestFirst(_ buckets: [Bucket]) -> [Bucket] {
    let ordered = buckets.enumerated().map { (running: slots.running(to: $1.origin), place: $0, bucket: $1) }
    return ordered.sorted { ($0.running, $0.place) < ($1.running, $1.place) }.map(\.bucket)
  }

  /// Attempts that have stood still for long enough lend their slots to other origins.
  mutating func noteQuiet(at steady: Int64) {
    for (attempt, flight) in flights where !flight.isQuiet && flight.quietAt <= steady {
      flights[attempt]?.isQuiet = true
      slots.fellQuiet(flight.priority, flight.origin)
    }
  }

  mutating func noteMoved(_ attempt: AttemptID, at steady: Int64) {
    guard let flight = flights[attempt] else { return }
    flights[attempt]?.movedAt = steady
    guard flight.isQuiet else { return }
    flights[attempt]?.isQuiet = false
    slots.stirred(flight.priority, flight.origin)
  }

  /// Queue time, ms, at which something may start though no slot is freed: a circuit lets one try, or, where
  /// slots are short, an attempt that stands still lends its own. nil when neither will be.
  var nextOpening: Int64? {
    let quiet = slots.isShort ? flights.values.filter { !$0.isQuiet }.map(\.quietAt).min() : nil
    return [slots.nextTrial(after: lookedAt), quiet].compactMap(\.self).min()
  }
}

extension Turn {
  /// What came of an attempt says how its server does. No server asks for longer than its entry would wait.
  mutating func learn(from flight: Flight, _ result: AttemptResult, of entry: Entry?) {
    let steady = now.steady
    let policy = state.configuration.retry.overlaid(with: entry?.request.retry)
    let sign = result.sign(at: now.wall).capped(at: policy.backoff.maxMs)
    let before = state.slots.origins[flight.origin]?.circuit.phase(at: steady)
    state.slots.learn(
      sign, from: flight.load, to: flight.origin, at: steady,
      fraction: engine.randomness.fraction())
    let circuit = state.slots.origins[flight.origin]?.circuit
    guard before == .closed, let until = circuit?.restsUntil else { return }
    log(
      .info,
      LogLine(
        .info, "an origin fails and is left alone for a while",
        [.init("origin", flight.origin.text), .init("ms", until - steady)]))
  }
}
