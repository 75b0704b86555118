import Synchronization

/// What is on its way to the engine's thread, in order.
final class Inbox: Sendable {
  /// Runs on the engine's thread, between two turns.
  typealias Work = @Sendable (QueueEngine) -> Void

  /// The commands of one turn, and what runs after it.
  struct Batch {
    var commands: [Command] = []
    var work: Work?
  }

  private struct Content {
    var batches: [Batch] = []
    var isClosed = false
  }

  private let content = Mutex(Content())
  /// Counts a post for each change of an empty inbox, so that a wait is never missed.
  private let arrivals = Semaphore()

  func put(_ command: Command) {
    add { $0.commands.append(command) }
  }

  func put(_ work: @escaping Work) {
    add { $0.work = work }
  }

  /// Changes the last batch, or a new one behind one that is closed by its work.
  private func add(_ change: (inout Batch) -> Void) {
    let wasEmpty = content.withLock { content in
      let wasEmpty = content.batches.isEmpty
      if wasEmpty || content.batches[content.batches.count - 1].work != nil {
        content.batches.append(Batch())
      }
      change(&content.batches[content.batches.count - 1])
      return wasEmpty
    }
    if wasEmpty { arrivals.post() }
  }

  func close() {
    content.withLock { $0.isClosed = true }
    arrivals.post()
  }

  var isEmpty: Bool { content.withLock { $0.batches.isEmpty } }

  /// At most `limit` commands; nil when the inbox was closed and nothing is left. Without `waits` it may be
  /// none.
  func take(limit: Int, waits: Bool) -> Batch? {
    while true {
      let taken: Batch?? = content.withLock { content in
        if let first = content.batches.first {
          if first.commands.count > limit {
            content.batches[0].commands.removeFirst(limit)
            return .some(Batch(commands: Array(first.commands.prefix(limit))))
          }
          return .some(content.batches.removeFirst())
        }
        if content.isClosed { return .some(nil) }
        return waits ? nil : .some(Batch())
      }
      if let taken { return taken }
      arrivals.wait()
    }
  }
}
