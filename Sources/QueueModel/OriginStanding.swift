/// One origin as `stats` tells of it.
package struct OriginStanding: Sendable, Equatable {
  package var origin: Origin
  /// Attempts to it.
  package var running: Int
  /// Attempts at once that it may have (D25, D51).
  package var limit: Int
  package var circuit: Circuit.Phase
  /// Wall clock, ms: until then the circuit is open (D52).
  package var until: Int64?
}

extension Slots {
  /// Origins that `stats` tells of.
  private static let toldOrigins = 64

  /// Those with attempts first, then by name; at most 64.
  package func standings(now: Moment) -> [OriginStanding] {
    let all = origins.map { origin, load in
      let phase = load.circuit.phase(at: now.steady)
      return OriginStanding(
        origin: origin, running: load.running.all, limit: limit(of: origin), circuit: phase,
        until: phase == .open ? load.circuit.restsUntil.map { now.wall(at: $0) } : nil)
    }
    let sorted = all.sorted { one, other in
      one.running > 0 && other.running == 0
        || (one.running > 0) == (other.running > 0) && one.origin.text < other.origin.text
    }
    return Array(sorted.prefix(Slots.toldOrigins))
  }
}
