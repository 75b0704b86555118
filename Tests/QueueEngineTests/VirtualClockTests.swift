import QueueModel
import Testing

@testable import QueueEngine

@Suite("A virtual clock, and what moves it between two turns")
struct VirtualClockTests {
  @Test("D21: it stands still, moves by what it is told, both clocks alike, and never beyond its end")
  func moves() {
    let clock = VirtualClock(Moment(wall: 1_000_000, steady: 5_000))
    #expect(clock.now() == Moment(wall: 1_000_000, steady: 5_000))
    #expect(clock.advance(by: 7_200_000))
    #expect(clock.now() == Moment(wall: 8_200_000, steady: 7_205_000))
    #expect(!clock.advance(by: .max))
    #expect(!clock.advance(by: VirtualClock.latest - 8_200_000 + 1))
    #expect(clock.now() == Moment(wall: 8_200_000, steady: 7_205_000))
    #expect(clock.advance(by: VirtualClock.latest - 8_200_000))
    #expect(clock.now().wall == VirtualClock.latest)
    #expect(!clock.advance(by: 1))
  }

  @Test("D21: it goes on where the queue stood, and a wall clock that is further on stays")
  func goesOn() {
    let clock = VirtualClock(Moment(wall: 1_000_000, steady: 5_000))
    clock.goOn(offset: 300, notBefore: 2_000_000)
    #expect(clock.now() == Moment(wall: 2_000_000, steady: 5_300))
    #expect(clock.atBoot() == Moment(wall: 2_000_000, steady: 5_000))
    clock.goOn(offset: 300, notBefore: 1)
    #expect(clock.now().wall == 2_000_000)
  }

  /// The numbers of connections in the commands of a batch.
  private func numbers(_ batch: Inbox.Batch?) -> [Int64]? {
    batch?.commands.map { command in
      if case .disconnected(let id) = command { id.number } else { 0 }
    }
  }

  @Test("work between two turns keeps its place: after the commands before it, before those behind it")
  func order() {
    let inbox = Inbox()
    #expect(inbox.isEmpty)
    for number in 1...5 { inbox.put(.disconnected(HostID(Int64(number)))) }
    inbox.put { _ in }
    inbox.put { _ in }
    inbox.put(.disconnected(HostID(6)))
    inbox.close()
    let batches = (0..<6).map { _ in inbox.take(limit: 3, waits: true) }
    let expected: [[Int64]?] = [[1, 2, 3], [4, 5], [], [6], nil, nil]
    #expect(batches.map { numbers($0) } == expected)
    let ends = batches.map { $0?.work != nil }
    #expect(ends == [false, true, true, false, false, false])
    #expect(inbox.isEmpty)
  }

  @Test("a turn without commands is taken only when nothing is waited for")
  func emptyTurn() {
    let inbox = Inbox()
    #expect(numbers(inbox.take(limit: 3, waits: false)) == [])
    inbox.put(.tick)
    #expect(inbox.take(limit: 3, waits: false)?.commands.count == 1)
  }
}
