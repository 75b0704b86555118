import CCurl
import Glibc
package import QueueModel
import Synchronization

/// Performs attempts with libcurl, on one thread of its own. The process has to set LC_CTYPE to a UTF-8
/// locale, or hosts beyond ASCII cannot be resolved (D33).
package final class CurlTransport: Transport {
  /// Why a transport cannot be made.
  package struct StartError: Error, Sendable, Equatable {
    package let message: String
  }

  /// The first libcurl that has every option that is used.
  private static let oldestVersion: UInt32 = 0x07_57_00

  private struct Life {
    // What the thread begins with that is not there yet.
    var settings: ConnectionSettings
    var bandwidth = Bandwidth()

    var thread: pthread_t?
    var isOver = false
  }

  private let inbox = Inbox()
  private let receiver: TransportReceiver
  private let life: Mutex<Life>

  /// Nothing runs yet: the first attempt starts the thread, and that prepares libcurl, whose tables and
  /// libraries a queue that only waits should not pay for.
  ///
  /// - Parameter receiver: Called on a thread of the transport, or within `start` when no thread can be had;
  ///   must not call `shutdown`.
  package init(
    settings: ConnectionSettings = ConnectionSettings(), receiver: @escaping TransportReceiver
  ) throws(StartError) {
    guard let version = curl_version_info(CURLVERSION_FIRST),
      version.pointee.version_num >= CurlTransport.oldestVersion
    else { throw StartError(message: "libcurl 7.87 or newer is needed") }
    self.receiver = receiver
    life = Mutex(Life(settings: settings))
  }

  deinit {
    shutdown()
  }

  package func start(_ transmission: Transmission) {
    guard life.withLock({ wake(&$0) }) else {
      let failure = TransferFailure(.beforeRequest, "the transport's thread cannot be started")
      let result = AttemptResult(failure: failure, requestWentWhole: false)
      return receiver(transmission.attempt, .finished(result))
    }
    inbox.post(.start(transmission))
  }

  package func stop(_ attempt: AttemptID) {
    inbox.post(.stop(attempt))
  }

  package func configure(_ settings: ConnectionSettings) {
    life.withLock { life in
      guard life.thread == nil else { return inbox.post(.configure(settings)) }
      life.settings = settings
    }
  }

  package func limit(_ bandwidth: Bandwidth) {
    life.withLock { life in
      guard life.thread == nil else { return inbox.post(.limit(bandwidth)) }
      life.bandwidth = bandwidth
    }
  }

  /// Ends every attempt without a report, closes every connection and ends the thread; returns when that is
  /// done, which waits for no peer. Orders that come later are dropped. May be called again.
  package func shutdown() {
    inbox.post(.end)
    let ended = life.withLock { life in
      let ended = life.thread
      life.thread = nil
      life.isOver = true
      return ended
    }
    guard let ended else { return inbox.close() }
    pthread_join(ended, nil)
  }

  /// False when there is no thread and none can be started.
  private func wake(_ life: inout Life) -> Bool {
    guard life.thread == nil, !life.isOver else { return true }
    let (inbox, settings, receiver) = (inbox, life.settings, receiver)
    life.thread = CurlTransport.startThread { CurlLoop(inbox, settings, receiver).run() }
    guard life.thread != nil else { return false }
    inbox.post(.limit(life.bandwidth))
    return true
  }

  private final class ThreadBody: Sendable {
    let run: @Sendable () -> Void

    init(_ run: @escaping @Sendable () -> Void) {
      self.run = run
    }
  }

  /// The thread takes no signal: those belong to the loop that owns the wire.
  private static func startThread(_ run: @escaping @Sendable () -> Void) -> pthread_t? {
    var all = sigset_t()
    var before = sigset_t()
    sigfillset(&all)
    pthread_sigmask(SIG_SETMASK, &all, &before)
    defer { pthread_sigmask(SIG_SETMASK, &before, nil) }
    var thread = pthread_t()
    let body = Unmanaged.passRetained(ThreadBody(run))
    let code = pthread_create(
      &thread, nil,
      { argument in
        guard let argument else { return nil }
        Unmanaged<ThreadBody>.fromOpaque(argument).takeRetainedValue().run()
        return nil
      }, body.toOpaque())
    guard code == 0 else {
      body.release()
      return nil
    }
    return thread
  }
}
