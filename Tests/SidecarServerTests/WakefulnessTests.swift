import Testing

@testable import SidecarServer

@Suite struct WakefulnessTests {
  private let linger = Wakefulness.lingerMs

  @Test("A lock is wanted with the first transmission and given back some seconds after the last")
  func held() {
    var awake = Wakefulness()
    #expect(awake.step(at: 0) == .wait(until: nil))
    var isNew = awake.note(isTransmitting: true, at: 10)
    #expect(isNew)
    #expect(awake.step(at: 10) == .acquire)
    awake.acquired()
    #expect(awake.step(at: 1_000_000) == .wait(until: nil))
    isNew = awake.note(isTransmitting: false, at: 2_000_000)
    #expect(isNew)
    #expect(awake.step(at: 2_000_000) == .wait(until: 2_000_000 + linger))
    #expect(awake.step(at: 2_000_000 + linger) == .release)
    awake.released()
    #expect(awake.step(at: 3_000_000) == .wait(until: nil))
  }

  @Test("A pause between attempts that is shorter than that lets nothing go")
  func lingers() {
    var awake = Wakefulness()
    _ = awake.note(isTransmitting: true, at: 0)
    awake.acquired()
    for round in 1...5 {
      let time = Int64(round) * 10_000
      _ = awake.note(isTransmitting: false, at: time)
      _ = awake.note(isTransmitting: true, at: time + linger - 1)
      #expect(awake.step(at: time + linger) == .wait(until: nil))
    }
    let isNew = awake.note(isTransmitting: true, at: 99_999)
    #expect(!isNew)
  }

  @Test(
    "After a lock that could not be had it is asked for again a minute later, and only while it is wanted")
  func patience() {
    var awake = Wakefulness()
    _ = awake.note(isTransmitting: true, at: 0)
    awake.failed(at: 5)
    let again = 5 + Wakefulness.patienceMs
    #expect(awake.step(at: 6) == .wait(until: again))
    _ = awake.note(isTransmitting: false, at: 7)
    #expect(awake.step(at: 8) == .wait(until: nil))
    _ = awake.note(isTransmitting: true, at: 9)
    #expect(awake.step(at: 10) == .wait(until: again))
    #expect(awake.step(at: again) == .acquire)
  }
}
