import QueueModel
import QueueStore

extension Turn {
  /// Rows read in one step of a walk.
  private static let step = 256

  /// Goes on with the walk of one connection until its reader is behind or the walk is done.
  mutating func walk(_ id: HostID, _ writer: Writer) throws(StoreError) {
    guard let connection = state.connections[id], !connection.walk.isEmpty,
      let subscription = connection.subscription, subscription.kinds.contains(.state)
    else { return }
    var walk = connection.walk
    if walk.isLost {
      walk.resynced()
      then(.tell(id, .resync))
    }
    if let stretch = walk.stretches.first, !connection.host.isBehind {
      let rows = try writer.entries(after: stretch.after, limit: Turn.step)
      for (entry, turn) in rows where entry.number <= stretch.through && subscription.covers(entry.key) {
        guard let told = stretch.toldUnder(rowOf: turn),
          told.standing(of: entry) != state.gates.standing(of: entry)
        else { continue }
        then(.tell(id, .state(Row(entry, gates: state.gates, now: now))))
      }
      walk.advance(to: rows.count < Turn.step ? stretch.through : rows[rows.count - 1].0.number)
    }
    state.connections[id]?.walk = walk
  }

  /// Takes every walk whose reader keeps up one step on.
  mutating func goOnWalking(_ writer: Writer) throws(StoreError) {
    for (id, connection) in state.connections where !connection.walk.isEmpty && !connection.host.isBehind {
      try walk(id, writer)
    }
  }

  /// True while some connection's walk could go on at once.
  var hasWalking: Bool {
    state.connections.values.contains { !$0.walk.isEmpty && !$0.host.isBehind }
  }
}
