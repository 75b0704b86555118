/// What holds for many entries at once: written once, looked at when an entry is read (D1).
package struct Gates: Sendable, Equatable {
  /// The whole queue is paused.
  package var paused = false
  package var pausedKeys: Set<EntryKey> = []
  package var pausedGroups: Set<EntryGroup> = []
  /// The queue's Wi-Fi setting, for entries without their own.
  package var wifiOnly = false
  package var network = Network()
  /// Oldest first, numbers rising.
  package var patches: [HeaderPatch] = []
  /// The number of the newest patch ever stored; stays when patches are erased.
  package var headerRevision: Int64 = 0
  /// By origin, the present or last outage.
  package var outages: [Origin: Outage] = [:]

  package init() {}

  /// The whole queue is paused, or this key, or this group; a resume of the one leaves the others.
  package func isPaused(_ key: EntryKey, _ group: EntryGroup? = nil) -> Bool {
    paused || pausedKeys.contains(key) || group.map(pausedGroups.contains) ?? false
  }

  package func isPaused(_ entry: Entry) -> Bool { isPaused(entry.key, entry.group) }

  /// Whether an entry waits for Wi-Fi (D34).
  ///
  /// - Parameter own: The entry's own `wifiOnly`; nil follows the queue's setting.
  package func holdsForWifi(_ own: Bool?) -> Bool {
    guard own ?? wifiOnly else { return false }
    switch network.kind {
    case .wifi, .ethernet: return network.isMetered
    case .cellular, .none: return true
    }
  }
}

/// What the machine is connected by (D34).
package struct Network: Sendable, Equatable {
  package enum Kind: String, Sendable, CaseIterable {
    case wifi, ethernet, cellular, none
  }

  package var kind: Kind = .ethernet
  package var isMetered = false

  package init(kind: Kind = .ethernet, isMetered: Bool = false) {
    self.kind = kind
    self.isMetered = isMetered
  }
}
