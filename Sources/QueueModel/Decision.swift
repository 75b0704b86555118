/// What a transition decided. The engine commits entry and outcome together and only then lets the effects
/// happen.
package struct Decision: Sendable {
  /// The entry as it stands now.
  package var entry: Entry
  /// How its settle cycle ended, when it did.
  package var outcome: Outcome?
  /// In the order in which hosts see them; an outcome follows the last of them.
  package var effects: [Effect]
  /// The body that the entry had before is to be let go of (D27).
  package var releasesBody: Bool

  package init(entry: Entry, outcome: Outcome? = nil, effects: [Effect] = [], releasesBody: Bool = false) {
    self.entry = entry
    self.outcome = outcome
    self.effects = effects
    self.releasesBody = releasesBody
  }

  /// What happened has no meaning for an entry in this state: nothing changes.
  static func unchanged(_ entry: Entry) -> Decision { Decision(entry: entry) }
}

/// What follows from a decision once it is committed.
package enum Effect: Sendable {
  /// The attempt is to be ended without a report.
  case stop(AttemptID)
  case attempt(AttemptEvent)
  /// The last value before a terminal state.
  case progress(bytesSent: Int64)
  /// The entry's row as it stands now.
  case state
}
