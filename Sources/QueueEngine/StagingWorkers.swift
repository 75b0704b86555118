import Glibc
package import QueueModel
package import QueueStore
import Synchronization

/// Threads that copy bodies, so that a large copy or a slow disk holds up neither the wire nor a transfer.
package final class StagingWorkers: Sendable {
  private let stager: BodyStager
  private let queue = WorkQueue()
  private let done: @Sendable (StagingTicket, Result<StagingProduct, StageError>) -> Void

  /// Two: one that waits for a slow source does not hold up the next body.
  private static let count = 2

  package init(
    _ stager: BodyStager,
    done: @escaping @Sendable (StagingTicket, Result<StagingProduct, StageError>) -> Void
  ) {
    self.stager = stager
    self.done = done
  }

  /// Starts the threads; they live as long as the process.
  package func start() throws(ThreadError) {
    for _ in 0..<StagingWorkers.count {
      try Thread.start { [self] in
        while true { carryOut(queue.take()) }
      }
    }
  }

  /// Adds work; returns at once.
  package func take(_ work: StagingWork) { queue.put(work) }

  private func carryOut(_ work: StagingWork) {
    done(work.ticket, StagingWorkers.result(of: work, by: stager, SystemBits()))
  }

  /// What the work yields, on the calling thread.
  package static func result(
    of work: StagingWork, by stager: BodyStager, _ randomness: any Randomness
  ) -> Result<StagingProduct, StageError> {
    do throws(StageError) {
      switch work.kind {
      case .body:
        return .success(
          .body(
            try stager.stage(work.request.body, staging: work.request.staging, randomness: randomness)))
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

/// The system gave no thread.
package struct ThreadError: Error, Sendable {
  package let code: Int32
}

/// A thread of the system's that runs until its body returns; nobody waits for it.
package enum Thread {
  private final class Body: Sendable {
    let run: @Sendable () -> Void

    init(_ run: @escaping @Sendable () -> Void) { self.run = run }
  }

  package static func start(_ run: @escaping @Sendable () -> Void) throws(ThreadError) {
    var thread = pthread_t()
    let body = Unmanaged.passRetained(Body(run))
    let code = pthread_create(
      &thread, nil,
      { argument in
        guard let argument else { return nil }
        Unmanaged<Body>.fromOpaque(argument).takeRetainedValue().run()
        return nil
      }, body.toOpaque())
    guard code == 0 else {
      body.release()
      throw ThreadError(code: code)
    }
    pthread_detach(thread)
  }
}
