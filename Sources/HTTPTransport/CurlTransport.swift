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

  private static let globalResult = curl_global_init(Int(CURL_GLOBAL_ALL))

  private let inbox: Inbox
  private let thread: Mutex<pthread_t?>

  /// Starts the thread. `receiver` is called on it and must not call `shutdown`.
  package init(
    settings: ConnectionSettings = ConnectionSettings(), receiver: @escaping TransportReceiver
  ) throws(StartError) {
    guard CurlTransport.globalResult == CURLE_OK, let version = curl_version_info(CURLVERSION_FIRST) else {
      throw StartError(message: "libcurl cannot be initialised")
    }
    guard version.pointee.version_num >= CurlTransport.oldestVersion else {
      throw StartError(message: "libcurl 7.87 or newer is needed")
    }
    guard let multi = curl_multi_init() else { throw StartError(message: "libcurl is out of memory") }
    let inbox = Inbox(Inbox.Multi(pointer: multi))
    guard let thread = CurlTransport.startThread({ CurlLoop(inbox, settings, receiver).run() }) else {
      curl_multi_cleanup(multi)
      throw StartError(message: "the transport's thread cannot be started")
    }
    self.inbox = inbox
    self.thread = Mutex(thread)
  }

  deinit {
    shutdown()
  }

  package func start(_ transmission: Transmission) {
    inbox.post(.start(transmission))
  }

  package func stop(_ attempt: AttemptID) {
    inbox.post(.stop(attempt))
  }

  package func configure(_ settings: ConnectionSettings) {
    inbox.post(.configure(settings))
  }

  /// Ends every attempt without a report, closes every connection and ends the thread; returns when that is
  /// done, which waits for no peer. Orders that come later are dropped. May be called again.
  package func shutdown() {
    inbox.post(.end)
    let ended = thread.withLock { thread in
      let ended = thread
      thread = nil
      return ended
    }
    if let ended { pthread_join(ended, nil) }
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
