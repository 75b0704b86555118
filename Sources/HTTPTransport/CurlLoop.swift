import CCurl
import Glibc
import QueueModel

/// The transport's thread: takes orders, lets libcurl work, watches the time. Everything in it belongs to
/// that thread.
final class CurlLoop {
  private let inbox: Inbox
  private let receiver: TransportReceiver
  private var settings: ConnectionSettings
  private let multi: UnsafeMutableRawPointer
  private let sockets = SocketTable()
  private var transfers: [AttemptID: Transfer] = [:]
  private var byHandle: [UnsafeMutableRawPointer: Transfer] = [:]
  private var idle: [EasyHandle] = []
  private let pacer = Pacer()

  /// Connections in use count among them: libcurl closes one whenever it has more, so that with fewer than
  /// attempts at once nearly each attempt would have to connect.
  private static let connections = 64
  /// A handle keeps the buffer of its last upload, up to 512 KiB. Those of small bodies may be more.
  private static let idleHandles = 8
  private static let smallHandles = 64
  /// Longer than any wait; the wakeup ends it.
  private static let noDeadline: Int64 = 24 * 60 * 60 * 1000

  /// On the loop's own thread, which libcurl's preparation holds up for some milliseconds.
  init(_ inbox: Inbox, _ settings: ConnectionSettings, _ receiver: @escaping TransportReceiver) {
    self.inbox = inbox
    self.settings = settings
    self.receiver = receiver
    guard curl_global_init(Int(CURL_GLOBAL_ALL)) == CURLE_OK, let multi = curl_multi_init() else {
      // The queue is on disk; a process without memory for this can do nothing for it.
      fatalError("libcurl cannot be initialised")
    }
    self.multi = multi
    inbox.open(Inbox.Multi(pointer: multi))
  }

  /// Runs until the order to end; leaves nothing open.
  func run() {
    ccurl_multi_set_long(multi, CURLMOPT_MAXCONNECTS, CurlLoop.connections)
    while obeyOrders() {
      letGo()
      var running: Int32 = 0
      var code = curl_multi_perform(multi, &running)
      takeEndings()
      let pause = look(at: MonotonicTime.now)
      if code == CURLM_OK { code = curl_multi_poll(multi, nil, 0, Int32(pause), nil) }
      if code != CURLM_OK { failAll(code) }
    }
    inbox.close()
    for transfer in transfers.values { drop(transfer) }
    idle = []
    curl_multi_cleanup(multi)
  }

  // MARK: Orders

  /// False when the loop has to end.
  private func obeyOrders() -> Bool {
    for order in inbox.take() {
      switch order {
      case .start(let transmission): begin(transmission)
      case .stop(let attempt): if let transfer = transfers[attempt] { drop(transfer) }
      case .configure(let settings): configure(settings)
      case .limit(let bandwidth): limit(bandwidth)
      case .end: return false
      }
    }
    return true
  }

  private func configure(_ new: ConnectionSettings) {
    guard new != settings else { return }
    settings = new
    sockets.shutDownIdle()
    for transfer in byHandle.values { transfer.easy.forbidReuse() }
  }

  private func limit(_ bandwidth: Bandwidth) {
    pacer.configure(bandwidth)
    for transfer in byHandle.values { transfer.exchange.forfeitPace() }
  }

  private func begin(_ transmission: Transmission) {
    do throws(TransferFailure) {
      let body = try BodySource(opening: transmission.body)
      guard let easy = idle.popLast() ?? EasyHandle() else {
        throw TransferFailure(.beforeRequest, "libcurl is out of memory")
      }
      let exchange = Exchange(
        url: transmission.url, method: transmission.method, headers: transmission.headers, body: body,
        timeouts: transmission.timeouts, pace: Pace(pacer, transmission.attempt, transmission.key),
        easy: easy.pointer, sockets: sockets, http2: settings.http2, now: MonotonicTime.now)
      let transfer = Transfer(transmission, easy: easy, exchange: exchange)
      if let earlier = transfers.updateValue(transfer, forKey: transmission.attempt) { forget(earlier) }
      send(transfer)
    } catch {
      receiver(transmission.attempt, .finished(AttemptResult(failure: error, requestWentWhole: false)))
    }
  }

  private func send(_ transfer: Transfer) {
    do throws(TransferFailure) {
      try transfer.easy.prepare(transfer.exchange, settings: settings, sockets: sockets)
      guard curl_multi_add_handle(multi, transfer.easy.pointer) == CURLM_OK else {
        throw TransferFailure(.beforeRequest, "libcurl does not take the request")
      }
      byHandle[transfer.easy.pointer] = transfer
    } catch {
      finish(transfer, transfer.result(answer: nil, failure: error))
    }
  }

  /// The next hop of a redirect, in the same attempt (D20).
  private func follow(_ transfer: Transfer, _ hop: Transfer.Hop) {
    do throws(TransferFailure) {
      // Opened anew: a body that was taken away meanwhile must not look sent.
      let body = try BodySource(opening: hop.withBody ? transfer.transmission.body : .none)
      transfer.exchange.detach()
      transfer.follow(
        with: Exchange(
          url: hop.url, method: hop.method, headers: hop.headers, body: body,
          timeouts: transfer.transmission.timeouts,
          pace: Pace(pacer, transfer.transmission.attempt, transfer.transmission.key),
          easy: transfer.easy.pointer, sockets: sockets, http2: settings.http2, now: MonotonicTime.now))
      send(transfer)
    } catch {
      finish(transfer, transfer.result(answer: nil, failure: error))
    }
  }

  // MARK: Endings

  private func takeEndings() {
    var left: Int32 = 0
    while let message = curl_multi_info_read(multi, &left) {
      guard message.pointee.msg == CURLMSG_DONE, let transfer = byHandle[message.pointee.easy_handle] else {
        continue
      }
      end(transfer, .curl(ccurl_message_result(message)))
    }
  }

  private func end(_ transfer: Transfer, _ ending: Transfer.Ending) {
    transfer.exchange.look(at: MonotonicTime.now)
    release(transfer)
    if case .curl(CURLE_OK) = ending, transfer.exchange.mustDrain {
      transfer.draining = ending
      return
    }
    switch transfer.next(after: ending) {
    case .hop(let hop): follow(transfer, hop)
    case .result(let result): finish(transfer, result)
    }
  }

  /// Takes the transfer's handle out of libcurl's hands; a connection in use is closed.
  private func release(_ transfer: Transfer) {
    guard byHandle.removeValue(forKey: transfer.easy.pointer) != nil else { return }
    pacer.leave(transfer.transmission.attempt)
    curl_multi_remove_handle(multi, transfer.easy.pointer)
  }

  private func finish(_ transfer: Transfer, _ result: AttemptResult) {
    transfers[transfer.transmission.attempt] = nil
    recycle(transfer)
    receiver(transfer.transmission.attempt, .finished(result))
  }

  private func drop(_ transfer: Transfer) {
    transfers[transfer.transmission.attempt] = nil
    forget(transfer)
  }

  private func forget(_ transfer: Transfer) {
    transfer.exchange.abandon()
    release(transfer)
    recycle(transfer)
  }

  private func recycle(_ transfer: Transfer) {
    let isSmall = transfer.exchange.body.length <= EasyHandle.leastBuffer
    transfer.exchange.detach()
    if idle.count < (isSmall ? CurlLoop.smallHandles : CurlLoop.idleHandles) { idle.append(transfer.easy) }
  }

  private func failAll(_ code: CURLMcode) {
    let message = "libcurl: \(String(cString: curl_multi_strerror(code)))"
    for transfer in transfers.values {
      release(transfer)
      let cause: TransferFailure.Cause = transfer.exchange.hasBegun ? .afterRequestBegan : .beforeRequest
      finish(transfer, transfer.result(answer: nil, failure: TransferFailure(cause, message)))
    }
  }

  // MARK: Time

  /// Bodies that were held back go on as far as the limits allow, and those that rest when there is news.
  private func letGo() {
    for (attempt, bytes) in pacer.grants() { transfers[attempt]?.exchange.goOn(with: bytes) }
    let now = MonotonicTime.now
    for transfer in byHandle.values { transfer.exchange.endRest(at: now) }
  }

  /// Looks at every transfer that is due; returns how long libcurl may wait, ms.
  private func look(at now: Int64) -> Int64 {
    var wake = min(now + CurlLoop.noDeadline, pacer.nextAt ?? .max)
    for transfer in byHandle.values { transfer.exchange.restAtShutWindow(at: now) }
    for transfer in transfers.values {
      if transfer.exchange.wakeAt <= now { look(at: transfer, now) }
      if transfers[transfer.transmission.attempt] === transfer { wake = min(wake, transfer.exchange.wakeAt) }
    }
    return max(0, wake - now)
  }

  private func look(at transfer: Transfer, _ now: Int64) {
    transfer.exchange.look(at: now)
    if let bytes = transfer.newProgress() {
      receiver(transfer.transmission.attempt, .progress(bytesSent: bytes))
    }
    let due = transfer.exchange.deadlines.due
    if let ending = transfer.draining {
      if transfer.exchange.hasLeft || transfer.exchange.isDisconnected || due.at <= now {
        finish(transfer, transfer.result(of: ending))
      }
    } else if due.at <= now {
      end(transfer, .deadline(due.end))
    }
  }
}
