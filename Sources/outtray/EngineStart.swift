import Console
import QueueEngine
import QueueModel
import QueueStore
import SidecarServer

extension Sidecar {
  /// Hands the engine of a store that was opened, and the copying of bodies for it, to threads of their own.
  ///
  /// - Parameter make: Makes the engine, which gives its copying to the closure that it is handed.
  func startEngine(
    on store: QueueStore, _ make: (@escaping (StagingWork) -> Void) throws(StoreError) -> QueueEngine
  ) throws {
    let workers = StagingWorkers(store.stager) { [thread = engine] ticket, result in
      thread.submit(.staged(ticket, result))
    }
    let engine = try make { workers.take($0) }
    try engine.recover()
    try workers.start()
    try run(engine, offset: store.steadyOffset)
  }
}

extension Failure {
  /// Of a start that came to nothing.
  init(of error: any Error) {
    switch error {
    case let failure as Failure: self = failure
    case let error as StoreError: self.init(error)
    default: self.init(Status.internalError, "\(error)")
    }
  }
}
