/// What a commit has to survive before anything is done upon it (D35).
package enum Durability: Int, Sendable, Comparable {
  /// Nothing was written.
  case none
  /// In the log: survives the end of the process, at any instant.
  case logged
  /// Synced: survives a power cut.
  case synced

  package static func < (left: Durability, right: Durability) -> Bool { left.rawValue < right.rawValue }
}
