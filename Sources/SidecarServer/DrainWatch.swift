import Synchronization

/// Whether the queue has run empty since somebody began to wait for it: asked for on the loop's thread, found
/// out on the engine's.
final class DrainWatch: Sendable {
  private struct Content {
    var isWanted = false
    var isDone = false
  }

  private let content = Mutex(Content())

  /// Waits, from the next turn of the engine on.
  func begin() { content.withLock { $0.isWanted = true } }

  func cancel() { content.withLock { $0 = Content() } }

  var isDone: Bool { content.withLock { $0.isDone } }

  /// True once, when it is wanted and `isDrained` says so.
  func isReached(_ isDrained: () -> Bool) -> Bool {
    content.withLock { content in
      guard content.isWanted, !content.isDone, isDrained() else { return false }
      content.isDone = true
      return true
    }
  }
}
