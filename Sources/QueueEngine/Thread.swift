import Glibc

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
