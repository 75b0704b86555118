import Glibc
package import QueueModel
package import QueueStore
import Synchronization

/// Threads that copy bodies, so that a large copy or a slow disk holds up neither the wire nor a transfer.
package final class StagingWorkers: Sendable {
  private let stager: BodyStager
  private let queue = WorkQueue()
  private let done: @Sendable (StagingTicket, Result<StagingProduct, StageError>) -> Void
  private let watch: SearchWatch

  /// Two: one that waits for a slow source does not hold up the next body.
  private static let count = 2
  /// Threads that wait for a file system that does not answer; at this many, nothing more is begun.
  private static let stuckLimit = 64

  /// - Parameter patienceMs: how long a source is looked for (D29).
  package init(
    _ stager: BodyStager, patienceMs: Int64 = 1000,
    done: @escaping @Sendable (StagingTicket, Result<StagingProduct, StageError>) -> Void
  ) {
    self.stager = stager
    self.done = done
    watch = SearchWatch(patienceMs: patienceMs)
  }

  /// Starts the threads; they live as long as the process.
  package func start() throws(ThreadError) {
    for _ in 0..<StagingWorkers.count { try startOne() }
    try Thread.start { [self] in
      watch.run { [self] work in giveUp(work) }
    }
  }

  private func startOne() throws(ThreadError) {
    try Thread.start { [self] in
      while carryOut(queue.take()) {}
    }
  }

  /// Adds work; returns at once.
  package func take(_ work: StagingWork) {
    guard watch.stuck < StagingWorkers.stuckLimit else {
      let message = "too many files are looked for on a file system that does not answer"
      return done(work.ticket, .failure(.storage(message: message)))
    }
    queue.put(work)
  }

  /// False when another thread has taken the place of this one, which was stuck.
  private func carryOut(_ work: StagingWork) -> Bool {
    watch.begin(work)
    let found = { [watch] () throws(StageError) in
      guard watch.found(work) else { throw .late(field: work.request.body.field) }
    }
    let result = StagingWorkers.result(of: work, by: stager, SystemBits(), onFound: found)
    switch watch.end(work) {
    case .inTime:
      done(work.ticket, result)
      return true
    case .late(let isReplaced): return !isReplaced
    }
  }

  /// The source was not found in time. Its thread may never come back.
  private func giveUp(_ work: StagingWork) {
    done(work.ticket, .failure(.late(field: work.request.body.field)))
    do throws(ThreadError) {
      try startOne()
    } catch {
      watch.notReplaced(work)
    }
  }

  /// What the work yields, on the calling thread.
  ///
  /// - Parameter onFound: Called when the sources are found, before bytes are copied; what it throws ends the
  ///   work.
  package static func result(
    of work: StagingWork, by stager: BodyStager, _ randomness: any Randomness,
    onFound: () throws(StageError) -> Void = {}
  ) -> Result<StagingProduct, StageError> {
    do throws(StageError) {
      switch work.kind {
      case .body:
        return .success(
          .body(
            try stager.stage(
              work.request.body, staging: work.request.staging, randomness: randomness, onFound: onFound)))
      case .stamps: return .success(.stamps(stager.stamps(of: work.request.body)))
      }
    } catch {
      return .failure(error)
    }
  }
}

/// Random bits for names and boundaries.
private struct SystemBits: Randomness {
  func next() -> UInt64 {
    var generator = SystemRandomNumberGenerator()
    return generator.next()
  }
}

/// Work in order for whichever worker is free.
private final class WorkQueue: Sendable {
  private let work = Mutex([StagingWork]())
  private let arrivals = Semaphore()

  func put(_ item: StagingWork) {
    work.withLock { $0.append(item) }
    arrivals.post()
  }

  func take() -> StagingWork {
    while true {
      arrivals.wait()
      if let item = work.withLock({ $0.isEmpty ? nil : $0.removeFirst() }) { return item }
    }
  }
}
