import CCurl
import QueueModel
import Synchronization

/// What the loop is asked to do, in the order of the calls.
enum Order: Sendable {
  case start(Transmission)
  case stop(AttemptID)
  case configure(ConnectionSettings)
  case limit(Bandwidth)
  case end
}

/// Hands orders to the loop's thread and wakes it.
final class Inbox: Sendable {
  private struct State {
    var orders: [Order] = []
    /// None until the loop has begun, which takes what was posted before without being woken.
    var multi: Multi?
    var isClosed = false
  }

  /// The one pointer that two threads know; libcurl allows `curl_multi_wakeup` from any of them.
  struct Multi: @unchecked Sendable {
    let pointer: UnsafeMutableRawPointer
  }

  private let state = Mutex(State())

  /// From now on an order wakes `multi`.
  func open(_ multi: Multi) {
    state.withLock { $0.multi = multi }
  }

  /// Dropped when the loop has ended.
  func post(_ order: Order) {
    state.withLock { state in
      guard !state.isClosed else { return }
      state.orders.append(order)
      // Orders that wait have woken the loop already. Inside the lock, since after `close` the pointer is
      // none.
      if state.orders.count == 1, let multi = state.multi { curl_multi_wakeup(multi.pointer) }
    }
  }

  func take() -> [Order] {
    state.withLock { state in
      let orders = state.orders
      state.orders = []
      return orders
    }
  }

  /// No order is taken any more.
  func close() {
    state.withLock { state in
      state.isClosed = true
      state.multi = nil
      state.orders = []
    }
  }
}
