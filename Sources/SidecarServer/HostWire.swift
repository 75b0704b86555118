import CLinux
import Glibc
import JSONRPC
import QueueEngine

/// Moves bytes between the wire and its connection, on the loop. Stops reading while the connection is full,
/// and still notices a host that goes away.
final class HostWire {
  let connection: Connection
  private let wire: Wire
  private let loop: EventLoop
  private var frames: FrameReader
  private let onFrame: (Frame) -> Void
  /// Called once: the host closed its end, or will read no more.
  private let onEnd: () -> Void
  private var buffer = [UInt8](repeating: 0, count: 256 << 10)
  private var unwritten: ArraySlice<UInt8> = []
  private var isReading = true
  private var waitsForRoom = false
  private(set) var inputEnded = false
  private(set) var outputEnded = false
  /// The loop says when there is something to read. Not for a regular file, which never has to be waited for,
  /// and not for the rest that a host left behind.
  private var inputWaits: Bool
  private var hasToldEnd = false
  private let outputWaits: Bool

  init(
    _ connection: Connection, on wire: Wire, loop: EventLoop, maxLine: Int,
    onFrame: @escaping (Frame) -> Void,
    onEnd: @escaping () -> Void
  ) throws(LoopError) {
    self.connection = connection
    self.wire = wire
    self.loop = loop
    self.onFrame = onFrame
    self.onEnd = onEnd
    frames = FrameReader(maxLine: maxLine)
    inputWaits = try loop.add(wire.input, events: clinux_epoll_in) { _ in }
    outputWaits = try loop.add(wire.outputDescriptor, events: 0) { _ in }
    loop.replaceAction(of: wire.input) { [weak self] events in self?.inputReady(events) }
    loop.replaceAction(of: wire.outputDescriptor) { [weak self] events in self?.writable(events) }
  }

  private func inputReady(_ events: UInt32) {
    if isReading { return readable() }
    guard events & (clinux_epoll_err | clinux_epoll_hup) != 0 else { return }
    // Said again and again as long as the descriptor is watched. What is left in it is read when there is
    // room.
    loop.remove(wire.input)
    inputWaits = false
  }

  private func readable() {
    let transfer = buffer.withUnsafeMutableBytes { wire.read(into: $0) }
    switch transfer {
    case .bytes(let count):
      buffer.withUnsafeBytes { bytes in
        frames.feed(UnsafeRawBufferPointer(rebasing: bytes[..<count])) { onFrame($0) }
      }
    case .wouldBlock: break
    case .ended: endInput()
    }
    pauseIfFull()
  }

  /// The host is gone although somebody may still hold its end: what it had sent is read, and nothing after
  /// it.
  func hangUp() {
    while !inputEnded && !connection.isFull && wire.hasInput { readable() }
    endInput()
  }

  /// Gives the descriptors back; nothing may be asked of the wire afterwards.
  func close() {
    loop.remove(wire.input)
    loop.remove(wire.outputDescriptor)
    wire.close()
  }

  private func endInput() {
    guard !inputEnded else { return }
    inputEnded = true
    frames.finish { onFrame($0) }
    if inputWaits { loop.remove(wire.input) }
    tellEnd()
  }

  private func tellEnd() {
    guard !hasToldEnd else { return }
    hasToldEnd = true
    onEnd()
  }

  /// At the limits stdin is not read further.
  private func pauseIfFull() {
    guard inputWaits, !inputEnded, isReading, connection.isFull else { return }
    isReading = false
    loop.change(wire.input, events: 0)
  }

  /// After anything may have changed: writes what there is, and reads on when there is room again.
  func attend() {
    flush()
    while !inputWaits && !inputEnded && !connection.isFull { readable() }
    // Left behind by a host that does not read: its end has to be told before the input's is seen.
    if !inputWaits && !isReading && waitsForRoom && connection.isFull { tellEnd() }
    guard inputWaits, !inputEnded, !isReading, !connection.isFull else { return }
    isReading = true
    loop.change(wire.input, events: clinux_epoll_in)
  }

  private func writable(_ events: UInt32) {
    if events & (clinux_epoll_err | clinux_epoll_hup) != 0 { return endOutput() }
    waitsForRoom = false
    loop.change(wire.outputDescriptor, events: 0)
    flush()
  }

  private func flush() {
    while !outputEnded && !waitsForRoom {
      if unwritten.isEmpty { unwritten = connection.take(limit: 256 << 10)[...] }
      guard !unwritten.isEmpty else { return }
      switch unwritten.withUnsafeBytes({ wire.write($0) }) {
      case .bytes(let count): unwritten.removeFirst(count)
      case .wouldBlock:
        waitsForRoom = true
        if outputWaits {
          loop.change(wire.outputDescriptor, events: clinux_epoll_out)
        } else {
          waitsForRoom = false
        }
      case .ended: endOutput()
      }
    }
  }

  /// The host will read no more; what it holds unacknowledged stays journaled.
  private func endOutput() {
    guard !outputEnded else { return }
    outputEnded = true
    loop.remove(wire.outputDescriptor)
    endInput()
  }

  var isFlushed: Bool { outputEnded || (unwritten.isEmpty && !connection.hasUnwritten) }
}
