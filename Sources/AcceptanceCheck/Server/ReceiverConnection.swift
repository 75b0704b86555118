import Glibc

/// One connection of the receiver: requests one after the other, each treated by its step.
final class ReceiverConnection {
  private let descriptor: Int32
  private unowned let receiver: Receiver
  private unowned let watch: Watch
  private var reader = RequestReader(maxBody: Receiver.maxBody)
  private var current: (request: Received, step: Receiver.Step)?
  private var isOver = false

  init(_ descriptor: Int32, of receiver: Receiver, on watch: Watch) {
    self.descriptor = descriptor
    self.receiver = receiver
    self.watch = watch
    watch.add(descriptor, POLLIN) { [unowned self] in ready($0) }
  }

  deinit {
    watch.remove(descriptor)
    close(descriptor)
  }

  private func ready(_ events: Int16) {
    guard events & Int16(POLLIN) != 0 else { return receiver.drop(descriptor) }
    let chunk = [UInt8](unsafeUninitializedCapacity: 64 << 10) { buffer, count in
      count = max(0, recv(descriptor, buffer.baseAddress, buffer.count, Int32(MSG_DONTWAIT)))
    }
    if chunk.isEmpty {
      isOver = true
    } else {
      reader.feed(chunk) { take($0) }
    }
    // Only here: dropping a connection ends it, and it was at work until now.
    if isOver { receiver.drop(descriptor) }
  }

  private func take(_ piece: RequestReader.Piece) {
    guard !isOver else { return }
    switch piece {
    case .head(let head):
      current = receiver.begin(head)
      if current == nil { refuse(404) }
    case .body(let bytes):
      guard let current else { return }
      current.request.take(bytes)
      switch current.step {
      case .cut(let limit) where current.request.count >= limit: reset()
      case .hold(let limit) where current.request.count >= limit: watch.change(descriptor, 0)
      case .answer, .cut, .hold: break
      }
    case .end: end()
    case .refused(let status): refuse(status)
    }
  }

  private func end() {
    guard let current, case .answer(let status) = current.step else { return }
    current.request.status = status
    self.current = nil
    answer(status, "")
  }

  private func refuse(_ status: Int) {
    receiver.refused(status)
    answer(status, "Connection: close\r\n")
    isOver = true
  }

  /// So few bytes always find room in a socket that has sent nothing else.
  private func answer(_ status: Int, _ fields: String) {
    let text = Array("HTTP/1.1 \(status) Said\r\nContent-Length: 0\r\n\(fields)\r\n".utf8)
    _ = send(descriptor, text, text.count, Int32(MSG_NOSIGNAL | MSG_DONTWAIT))
  }

  /// With a RST, as a network does that loses a connection.
  private func reset() {
    var linger = linger(l_onoff: 1, l_linger: 0)
    setsockopt(descriptor, SOL_SOCKET, SO_LINGER, &linger, socklen_t(MemoryLayout<linger>.size))
    isOver = true
  }
}
