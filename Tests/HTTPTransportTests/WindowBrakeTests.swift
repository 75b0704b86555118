import Testing

@testable import HTTPTransport

@Suite struct WindowBrakeTests {
  /// The turn after which it rests for the first time, of a thousand.
  private func firstRest(moved: (Int) -> Int64, canWrite: (Int) -> Bool) -> Int? {
    var brake = WindowBrake()
    return (1...1000).first { turn in
      brake.mustRest(moved: moved(turn), at: 0, canWrite: { canWrite(turn) })
    }
  }

  @Test("A-CONN-11: two turns without a byte into a writable socket begin a rest")
  func shut() {
    #expect(firstRest(moved: { _ in 0 }, canWrite: { _ in true }) == 2)
    #expect(firstRest(moved: { min(Int64($0), 7) }, canWrite: { _ in true }) == 9)
  }

  @Test("A-CONN-11: an upload that moves, or whose socket is full, does not rest")
  func open() {
    #expect(firstRest(moved: { Int64($0) }, canWrite: { _ in true }) == nil)
    #expect(firstRest(moved: { Int64($0 / 2) }, canWrite: { _ in true }) == nil)
    #expect(firstRest(moved: { _ in 0 }, canWrite: { _ in false }) == nil)
    #expect(firstRest(moved: { _ in 0 }, canWrite: { $0 % 2 == 0 }) == nil)
  }

  @Test("A-CONN-11: a rest ends after 10 ms at the latest, and the next one begins as the first")
  func rests() {
    var brake = WindowBrake()
    let began = (1...9).filter { brake.mustRest(moved: 5, at: Int64($0), canWrite: { true }) }
    #expect(began == [3])
    #expect(brake.restsUntil == 13)
    brake.endRest()
    #expect(brake.restsUntil == nil)
    let again = (14...19).filter { brake.mustRest(moved: 5, at: Int64($0), canWrite: { true }) }
    #expect(again == [15])
  }

  @Test("A socket is not asked about while bytes move")
  func asks() {
    var brake = WindowBrake()
    for turn in 1...9 {
      _ = brake.mustRest(moved: Int64(turn), at: 0) {
        Issue.record("asked")
        return true
      }
    }
  }
}
