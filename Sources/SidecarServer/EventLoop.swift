import CLinux
import Glibc
import Synchronization

/// Waits for descriptors and runs what is registered for them, on the thread that calls `run`.
final class EventLoop {
  typealias Ready = (_ events: UInt32) -> Void

  private let poll: Int32
  private var ready: [Int32: Ready] = [:]
  private var isEnding = false
  /// The longest time between two calls of what runs after each batch, ms; below 0 for ever.
  var patience: Int32 = -1

  init() throws(LoopError) {
    poll = epoll_create1(clinux_epoll_cloexec)
    guard poll >= 0 else { throw LoopError("epoll_create1", errno) }
  }

  deinit { close(poll) }

  /// Runs `action` whenever `descriptor` has one of `events` (EPOLLIN, EPOLLOUT; HUP and ERR always). False
  /// for a descriptor that cannot be waited for, such as a regular file.
  func add(_ descriptor: Int32, events: UInt32, _ action: @escaping Ready) throws(LoopError) -> Bool {
    guard control(EPOLL_CTL_ADD, descriptor, events) else {
      if errno == EPERM { return false }
      throw LoopError("epoll_ctl", errno)
    }
    ready[descriptor] = action
    return true
  }

  /// Replaces what runs for a descriptor that was added.
  func replaceAction(of descriptor: Int32, _ action: @escaping Ready) {
    if ready[descriptor] != nil { ready[descriptor] = action }
  }

  func change(_ descriptor: Int32, events: UInt32) {
    _ = control(EPOLL_CTL_MOD, descriptor, events)
  }

  func remove(_ descriptor: Int32) {
    _ = control(EPOLL_CTL_DEL, descriptor, 0)
    ready[descriptor] = nil
  }

  func end() { isEnding = true }

  /// Until `end`; `afterEach` runs after each batch of events, so what they do on this thread spares the
  /// `waker`.
  func run(sparing waker: Waker, _ afterEach: () -> Void) throws(LoopError) {
    var events = [epoll_event](repeating: epoll_event(), count: 32)
    while !isEnding {
      let count = epoll_wait(poll, &events, Int32(events.count), patience)
      if count < 0 {
        if errno == EINTR { continue }
        throw LoopError("epoll_wait", errno)
      }
      waker.spare { for event in events.prefix(Int(count)) { ready[event.data.fd]?(event.events) } }
      afterEach()
    }
  }

  private func control(_ operation: Int32, _ descriptor: Int32, _ events: UInt32) -> Bool {
    var event = epoll_event()
    event.events = events
    event.data.fd = descriptor
    return epoll_ctl(poll, operation, descriptor, &event) == 0
  }
}

/// A call of the loop's that cannot fail unless the machine is out of something.
struct LoopError: Error, CustomStringConvertible {
  let call: String
  let code: Int32

  init(_ call: String, _ code: Int32) {
    self.call = call
    self.code = code
  }

  var description: String { "\(call): \(String(cString: strerror(code)))" }
}

/// Wakes the loop from any thread.
final class Waker: Sendable {
  let descriptor: Int32
  /// The thread that is awake and looks after everything before it waits again; 0 for none.
  private let spared = Atomic<UInt>(0)

  init() throws(LoopError) {
    descriptor = eventfd(0, clinux_eventfd_flags)
    guard descriptor >= 0 else { throw LoopError("eventfd", errno) }
  }

  deinit { close(descriptor) }

  func wake() {
    // A thread finds its own name there only if it put it there itself.
    guard spared.load(ordering: .relaxed) != pthread_self() else { return }
    // Fails only when the counter is full, and then the loop is awake.
    _ = eventfd_write(descriptor, 1)
  }

  /// Runs `body`, on the thread that would be woken: its own calls of `wake` do nothing meanwhile.
  func spare(while body: () -> Void) {
    spared.store(pthread_self(), ordering: .relaxed)
    body()
    spared.store(0, ordering: .relaxed)
  }

  func clear() {
    var count: eventfd_t = 0
    _ = eventfd_read(descriptor, &count)
  }
}
