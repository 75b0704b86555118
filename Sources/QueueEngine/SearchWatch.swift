import Glibc
import Synchronization

/// Watches how long sources are looked for (D29): a file system whose server is gone keeps a thread for ever,
/// and must keep neither the host's request nor the bodies of others. Sleeps while nothing is looked for.
final class SearchWatch: Sendable {
  private struct Content {
    var searches: [StagingTicket: (work: StagingWork, deadline: Int64)] = [:]
    /// Given up, and their threads not back yet; true where another thread has taken the place.
    var late: [StagingTicket: Bool] = [:]
    var isAwake = false
  }

  private let content = Mutex(Content())
  private let begins = Semaphore()
  private let patienceMs: Int64

  init(patienceMs: Int64) { self.patienceMs = patienceMs }

  /// Threads that wait for a file system.
  var stuck: Int { content.withLock { $0.late.count } }

  func begin(_ work: StagingWork) {
    let deadline = SearchWatch.now() + patienceMs
    let sleeps = content.withLock { content in
      content.searches[work.ticket] = (work, deadline)
      defer { content.isAwake = true }
      return !content.isAwake
    }
    if sleeps { begins.post() }
  }

  /// The sources are found. False when that came too late.
  func found(_ work: StagingWork) -> Bool {
    content.withLock { content in
      content.searches[work.ticket] = nil
      return content.late[work.ticket] == nil
    }
  }

  /// What became of work that has ended.
  enum End {
    case inTime
    /// Its host was told otherwise.
    case late(isReplaced: Bool)
  }

  func end(_ work: StagingWork) -> End {
    content.withLock { content in
      content.searches[work.ticket] = nil
      return content.late.removeValue(forKey: work.ticket).map { .late(isReplaced: $0) } ?? .inTime
    }
  }

  /// No other thread could be had in place of the one that is stuck.
  func notReplaced(_ work: StagingWork) {
    content.withLock { content in
      if content.late[work.ticket] != nil { content.late[work.ticket] = false }
    }
  }

  /// Calls `giveUp` for whatever is looked for too long; does not return.
  func run(_ giveUp: (StagingWork) -> Void) {
    while true {
      begins.wait()
      while let rest = pass(giveUp) { SearchWatch.sleep(rest) }
    }
  }

  /// How long until the next search is too long, ms; nil when nothing is looked for.
  private func pass(_ giveUp: (StagingWork) -> Void) -> Int64? {
    let now = SearchWatch.now()
    let (late, next) = content.withLock { content in
      let late = content.searches.values.filter { $0.deadline <= now }.map(\.work)
      for work in late {
        content.searches[work.ticket] = nil
        content.late[work.ticket] = true
      }
      let next = content.searches.values.map(\.deadline).min()
      content.isAwake = next != nil
      return (late, next)
    }
    for work in late { giveUp(work) }
    return next.map { $0 - now }
  }

  private static func now() -> Int64 {
    var time = timespec()
    clock_gettime(CLOCK_MONOTONIC, &time)
    return Int64(time.tv_sec) * 1000 + Int64(time.tv_nsec) / 1_000_000
  }

  private static func sleep(_ milliseconds: Int64) {
    var time = timespec(tv_sec: Int(milliseconds / 1000), tv_nsec: Int(milliseconds % 1000) * 1_000_000)
    clock_nanosleep(CLOCK_MONOTONIC, 0, &time, nil)
  }
}
