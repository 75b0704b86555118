import Glibc
import Synchronization
import Testing

@testable import SidecarServer

@Suite struct AwakeLockTests {
  /// A logind that gives locks or does not, and a clock that the test moves.
  private final class Desk: Sendable {
    private let content = Mutex((isOpen: false, asked: 0, faults: 0, now: Int64(1_000_000)))

    func open() { content.withLock { $0.isOpen = true } }

    func advance(_ milliseconds: Int64) { content.withLock { $0.now += milliseconds } }

    var now: Int64 { content.withLock { $0.now } }

    var asked: Int { content.withLock { $0.asked } }

    var faults: Int { content.withLock { $0.faults } }

    func noteFault() { content.withLock { $0.faults += 1 } }

    func ask() throws(Inhibitor.Fault) -> Int32 {
      let isOpen = content.withLock { content in
        content.asked += 1
        return content.isOpen
      }
      guard isOpen else { throw Inhibitor.Fault(reason: "not now") }
      return Glibc.open("/dev/null", O_RDONLY | O_CLOEXEC)
    }
  }

  private func until(_ condition: () -> Bool) async throws {
    for _ in 0..<10_000 where !condition() { try await Task.sleep(for: .milliseconds(1)) }
    try #require(condition())
  }

  @Test("A lock that cannot be had is told once for as long as that lasts; then it is held and given back")
  func trouble() async throws {
    let desk = Desk()
    let lock = try AwakeLock(
      acquire: { () throws(Inhibitor.Fault) in try desk.ask() }, clock: { desk.now },
      onFault: { _ in desk.noteFault() })
    lock.note(isTransmitting: true)
    #expect(lock.standing == nil)
    #expect(desk.asked == 0)
    try lock.begin()
    try lock.begin()
    try await until { lock.standing == .unavailable }
    for round in 2...3 {
      lock.note(isTransmitting: false)
      desk.advance(Wakefulness.patienceMs)
      lock.note(isTransmitting: true)
      try await until { desk.asked == round }
    }
    try await until { lock.standing == .unavailable }
    #expect(desk.faults == 1)
    desk.open()
    lock.note(isTransmitting: false)
    desk.advance(Wakefulness.patienceMs)
    lock.note(isTransmitting: true)
    try await until { lock.standing == .held }
    lock.note(isTransmitting: false)
    desk.advance(Wakefulness.lingerMs)
    try await until { lock.standing == .free }
    #expect(desk.asked == 4)
    #expect(desk.faults == 1)
  }
}
