import QueueStore

/// Gives the engine its thread: commands in from anywhere, turns in groups of what has arrived, ticks on
/// time.
package final class EngineThread: Sendable {
  private let inbox = Inbox()
  private let onDeadline: @Sendable (Deadline) -> Void

  /// `onDeadline` is told, on the engine's thread, when the next tick is wanted; whoever owns the timer
  /// submits it.
  package init(onDeadline: @escaping @Sendable (Deadline) -> Void) {
    self.onDeadline = onDeadline
  }

  /// Adds a command; returns at once.
  package func submit(_ command: Command) {
    inbox.put(command)
  }

  /// Runs `work` on the engine's thread between two turns: after what was submitted before it.
  func betweenTurns(_ work: @escaping @Sendable (QueueEngine) -> Void) {
    inbox.put(work)
  }

  /// Runs turns on the calling thread until `end`; `afterTurn` runs after each. Bodies that are on their way
  /// to an entry then are unlinked: nothing decides about them any more. The log is cut (D38).
  package func run(_ engine: QueueEngine, afterTurn: (QueueEngine) throws -> Void) rethrows {
    var isTidy = true
    while let batch = inbox.take(limit: EngineThread.groupLimit, waits: isTidy && !engine.hasMore) {
      engine.process(batch.commands)
      batch.work?(engine)
      try afterTurn(engine)
      onDeadline(engine.deadline())
      isTidy = engine.tidy(idle: inbox.isEmpty)
    }
    engine.store.discardUnclaimedBodies()
    engine.store.cutLog()
  }

  /// Ends `run` after what was submitted before.
  package func end() {
    inbox.close()
  }

  /// Commands of one commit; beyond it the first ones would wait too long.
  private static let groupLimit = 1024
}
