import Synchronization

/// A truth that one thread sets and another reads.
final class Flag: Sendable {
  private let truth = Atomic(false)

  var value: Bool { truth.load(ordering: .acquiring) }

  /// Sets it; gives what it was.
  func exchange(_ value: Bool) -> Bool { truth.exchange(value, ordering: .acquiringAndReleasing) }
}
