import Synchronization

/// Commands on their way to the engine's thread, in order.
final class Inbox: Sendable {
  private struct Content {
    var commands: [Command] = []
    var isClosed = false
  }

  private let content = Mutex(Content())
  /// Counts a post for each change of an empty inbox, so that a wait is never missed.
  private let arrivals = Semaphore()

  func put(_ command: Command) {
    let wasEmpty = content.withLock { content in
      content.commands.append(command)
      return content.commands.count == 1
    }
    if wasEmpty { arrivals.post() }
  }

  func close() {
    content.withLock { $0.isClosed = true }
    arrivals.post()
  }

  var isEmpty: Bool { content.withLock { $0.commands.isEmpty } }

  /// At most `limit` commands; nil when the inbox was closed and nothing is left. Without `waits` it may be
  /// none.
  func take(limit: Int, waits: Bool) -> [Command]? {
    while true {
      let taken: [Command]?? = content.withLock { content in
        if content.commands.count > limit {
          defer { content.commands.removeFirst(limit) }
          return .some(Array(content.commands.prefix(limit)))
        }
        if !content.commands.isEmpty {
          defer { content.commands.removeAll(keepingCapacity: true) }
          return .some(content.commands)
        }
        if content.isClosed { return .some(nil) }
        return waits ? nil : .some([])
      }
      if let taken { return taken }
      arrivals.wait()
    }
  }
}
