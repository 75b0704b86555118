import Glibc

extension Surroundings {
  /// Has the engine of the queue carry out `work`: that of the process that serves it, as a visitor; or, when
  /// nobody does, one of this process, which holds the queue meanwhile and sends nothing. Waits for another
  /// one that holds it. `work` runs again when the process at the far end ends under it, and is told so: what
  /// it called before may have been done.
  func change<Value>(
    _ directory: String, _ work: (LiveQueue, _ isServed: Bool, _ isRepeated: Bool) throws(Failure) -> Value
  ) throws(Failure) -> Value {
    // What is wrong with the directory is known before anything is made in it.
    _ = try StoredQueue(directory)
    let deadline = LiveQueue.now() + Surroundings.patience
    var isRepeated = false
    func attempt(_ live: LiveQueue, _ isServed: Bool) throws(Failure) -> Value {
      defer { isRepeated = true }
      return try work(live, isServed, isRepeated)
    }
    while true {
      do throws(Failure) {
        if let live = live(in: directory, patience: Surroundings.patience) { return try attempt(live, true) }
        return try hold(directory, attempt)
      } catch {
        guard error.isPassing, LiveQueue.now() < deadline else { throw error }
        usleep(20_000)
      }
    }
  }

  private func hold<Value>(
    _ directory: String, _ work: (LiveQueue, _ isServed: Bool) throws(Failure) -> Value
  ) throws(Failure) -> Value {
    let held = try doors.hold(directory)
    let result = Result { () throws(Failure) in try work(LiveQueue(held.connection), false) }
    held.waitForEnd()
    return try result.get()
  }

  /// As long as `serve` waits for the lock, ms.
  private static let patience: Int64 = 5000
}
