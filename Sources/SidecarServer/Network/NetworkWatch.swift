import CLinux
import Glibc
import QueueModel

/// Follows the default route by netlink, on the loop: asleep as long as the kernel says nothing (D34). Where
/// there is no netlink the network counts as ethernet.
final class NetworkWatch {
  private let notices: Int32
  private let pause: Int32
  private var isPausing = false
  private var detection: NetworkDetection?

  /// A link that flaps says much in a short time; what it has come to is looked at once, this many ms after
  /// its first word.
  private static let pauseMs = 300
  /// After a look that failed, ms.
  private static let patienceMs = 2000

  /// Looks once.
  init(log: any Log) throws(LoopError) {
    pause = timerfd_create(CLOCK_BOOTTIME, clinux_timerfd_flags)
    guard pause >= 0 else { throw LoopError("timerfd_create", errno) }
    // Before the look, so that no change falls between the two.
    notices = clinux_open_route_notices()
    do throws(RouteFailure) {
      guard notices >= 0 else { throw RouteFailure(number: errno) }
      detection = NetworkDetection(try NetworkWatch.routes(), kind: NetworkDevice.kind(number:))
    } catch {
      log.write(
        .warn, "the routes cannot be read; the network counts as ethernet", [.init("error", error.text)])
    }
  }

  deinit {
    if notices >= 0 { close(notices) }
    close(pause)
  }

  /// As seen last.
  var network: Network { detection?.network ?? Network(kind: .ethernet) }

  func register(
    on loop: EventLoop, _ onChange: @escaping (NetworkDetection.Change) -> Void
  ) throws(LoopError) {
    guard detection != nil else { return }
    _ = try loop.add(notices, events: clinux_epoll_in) { [unowned self] _ in readNotices() }
    _ = try loop.add(pause, events: clinux_epoll_in) { [unowned self] _ in
      var expirations: UInt64 = 0
      _ = read(pause, &expirations, 8)
      isPausing = false
      if let change = look() { onChange(change) }
    }
  }

  /// Empties the socket and sees to it that somebody looks soon.
  private func readNotices() {
    var buffer = [UInt8](repeating: 0, count: NetworkWatch.datagram)
    while true {
      let count = recv(notices, &buffer, buffer.count, 0)
      if count > 0 {
        let messages = buffer.withUnsafeBytes { RouteMessage.read(.init(rebasing: $0[..<count])) }
        if !messages.isEmpty { lookLater(NetworkWatch.pauseMs) }
        continue
      }
      switch errno {
      case EINTR: break
      // So much was said that the kernel dropped some.
      case ENOBUFS: lookLater(NetworkWatch.pauseMs)
      default: return
      }
    }
  }

  private func lookLater(_ milliseconds: Int) {
    guard !isPausing else { return }
    isPausing = true
    var value = itimerspec()
    value.it_value = timespec(tv_sec: milliseconds / 1000, tv_nsec: milliseconds % 1000 * 1_000_000)
    timerfd_settime(pause, 0, &value, nil)
  }

  /// What has changed since the last look. When the routes cannot be read, what is known stays, for now.
  private func look() -> NetworkDetection.Change? {
    do throws(RouteFailure) {
      return detection?.look(try NetworkWatch.routes(), kind: NetworkDevice.kind(number:))
    } catch {
      lookLater(NetworkWatch.patienceMs)
      return nil
    }
  }

  /// The largest datagram that the kernel writes.
  private static let datagram = 32 << 10

  private struct RouteFailure: Error {
    let number: Int32

    var text: String { String(cString: strerror(number)) }
  }

  /// Every default route there is.
  private static func routes() throws(RouteFailure) -> [DefaultRoute] {
    let answers = clinux_ask_for_routes()
    guard answers >= 0 else { throw RouteFailure(number: errno) }
    defer { close(answers) }
    var routes: [DefaultRoute] = []
    var buffer = [UInt8](repeating: 0, count: datagram)
    while true {
      let count = recv(answers, &buffer, buffer.count, 0)
      if count < 0 && errno == EINTR { continue }
      guard count > 0 else { throw RouteFailure(number: count < 0 ? errno : EBADMSG) }
      for message in buffer.withUnsafeBytes({ RouteMessage.read(.init(rebasing: $0[..<count])) }) {
        switch message {
        case .defaultRoute(let route): if let route { routes.append(route) }
        case .link: break
        case .failure(let number): throw RouteFailure(number: number)
        case .end(let isTorn):
          if isTorn { throw RouteFailure(number: EAGAIN) }
          return routes
        }
      }
    }
  }
}
