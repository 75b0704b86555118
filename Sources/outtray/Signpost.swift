import Console
import QueueEngine
import Synchronization

/// One word from one thread to another: that something went well, or why it did not.
final class Signpost: Sendable {
  private let word = Mutex(Failure?.none)
  private let isThere = Semaphore()

  /// Puts the word there; until it is taken, the last one counts.
  func put(_ failure: Failure?) {
    word.withLock { $0 = failure }
    isThere.post()
  }

  /// Waits for the word and takes it.
  func wait() -> Failure? {
    isThere.wait()
    return word.withLock { $0 }
  }
}
