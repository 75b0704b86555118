import Foundation
import Glibc
import JSONRPC
import JSONText
import QueueEngine
import QueueModel

@testable import SidecarServer

/// A host wire on a loop of its own thread, with this process as the host. Answers `echo` at once with
/// `bytes` bytes, and `hold` when told to.
final class Station: @unchecked Sendable {
  let connection: Connection
  let hostInput: Int32
  let hostOutput: Int32
  private let loop: EventLoop
  private let waker: Waker
  private let stops = Flag()
  private let ended = DispatchSemaphore(value: 0)
  private let inputEnd = DispatchSemaphore(value: 0)
  private let lock = NSLock()
  private var held: [RequestID] = []
  private var frames = 0

  enum Kind { case pipes, socket }

  init(_ kind: Kind, limits: WireLimits) throws {
    let loop = try EventLoop()
    let waker = try Waker()
    self.loop = loop
    self.waker = waker
    connection = Connection(HostID(1), limits: limits, wake: { waker.wake() }, onCaughtUp: { _ in })
    var first: [Int32] = [0, 0]
    var second: [Int32] = [0, 0]
    let theirs: (input: Int32, output: Int32)
    switch kind {
    case .pipes:
      pipe(&first)
      pipe(&second)
      theirs = (first[0], second[1])
      (hostOutput, hostInput) = (first[1], second[0])
    case .socket:
      socketpair(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0, &first)
      theirs = (first[1], dup(first[1]))
      (hostOutput, hostInput) = (first[0], first[0])
    }
    _ = try loop.add(waker.descriptor, events: 1) { _ in waker.clear() }
    let wire = try HostWire(
      connection, on: Wire(input: theirs.input, output: theirs.output), loop: loop, maxLine: limits.maxLine,
      onFrame: { [unowned self] in take($0) }, onEnd: { [inputEnd] in _ = inputEnd.signal() })
    let run = Loop(loop: loop, waker: waker, wire: wire, stops: stops, ended: ended)
    Foundation.Thread.detachNewThread { run.run() }
  }

  private final class Loop: @unchecked Sendable {
    let loop: EventLoop
    let waker: Waker
    let wire: HostWire
    let stops: Flag
    let ended: DispatchSemaphore

    init(loop: EventLoop, waker: Waker, wire: HostWire, stops: Flag, ended: DispatchSemaphore) {
      (self.loop, self.waker, self.wire, self.stops, self.ended) = (loop, waker, wire, stops, ended)
    }

    func run() {
      try? loop.run(sparing: waker) { [self] in
        wire.attend()
        if stops.value { loop.end() }
      }
      ended.signal()
    }
  }

  private func take(_ frame: Frame) {
    lock.withLock { frames += 1 }
    guard case .line(let line) = frame, case .request(let request) = Incoming.read(line) else {
      return connection.refuse(nil, .lineTooLong(limit: 0))
    }
    guard connection.begin(request.id) else { return connection.refuse(nil, .duplicateID(request.id)) }
    if request.method == "hold" { return lock.withLock { held.append(request.id) } }
    let bytes = request.params?["bytes"]?.integer ?? 0
    connection.answer(request.id) { $0.value(String(repeating: "x", count: Int(bytes))) }
  }

  /// Answers every held request.
  func answerHeld() {
    let ids = lock.withLock {
      defer { held = [] }
      return held
    }
    for id in ids { connection.answer(id) { $0.value(true) } }
  }

  var framesRead: Int { lock.withLock { frames } }

  /// Waits until the host's end was told; false after 5 s.
  func waitForEnd() -> Bool { inputEnd.wait(timeout: .now() + 5) == .success }

  func send(_ text: String) {
    var bytes = Array(text.utf8)[...]
    while !bytes.isEmpty {
      let count = bytes.withUnsafeBytes { Glibc.write(hostOutput, $0.baseAddress, $0.count) }
      guard count > 0 else { return }
      bytes = bytes.dropFirst(count)
    }
  }

  /// Reads until `count` lines came or the stream ended.
  func readLines(_ count: Int) -> [String] {
    var bytes: [UInt8] = []
    var chunk = [UInt8](repeating: 0, count: 1 << 16)
    var lines = 0
    while lines < count {
      let got = Glibc.read(hostInput, &chunk, chunk.count)
      guard got > 0 else { break }
      bytes += chunk[..<got]
      lines += chunk[..<got].count { $0 == 0x0A }
    }
    return String(decoding: bytes, as: UTF8.self).split(separator: "\n").map(String.init)
  }

  /// Polls until `condition`; false after 5 s.
  func until(_ condition: () -> Bool) -> Bool {
    for _ in 0..<500 {
      if condition() { return true }
      usleep(10_000)
    }
    return false
  }

  func closeHost() {
    close(hostOutput)
    if hostInput != hostOutput { close(hostInput) }
  }

  /// Ends the loop and waits for it.
  func stop() {
    _ = stops.exchange(true)
    waker.wake()
    _ = ended.wait(timeout: .now() + 5)
  }
}
