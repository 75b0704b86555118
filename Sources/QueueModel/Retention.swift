package import JSONText

extension Entry {
  /// Completed and acknowledged, and still there since others need to see that it has completed (D42). Its
  /// body is let go of.
  package struct Kept: Sendable, Equatable {
    /// Of a body that was `data`: tells whether it is enqueued again.
    package var dataDigest: Int64?

    package init(dataDigest: Int64? = nil) { self.dataDigest = dataDigest }
  }

  /// The row stays without its body, after the acknowledgement of a completed entry.
  ///
  /// - Parameter storedData: The body when that is `data`.
  package func keeping(storedData: JSON?) -> Decision {
    guard case .settled(.completed, _) = state, kept == nil else { return .unchanged(self) }
    var entry = self
    entry.kept = Kept(dataDigest: storedData?.equivalenceDigest)
    entry.body.place = .none
    return Decision(entry: entry, releasesBody: true)
  }
}
