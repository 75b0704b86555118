import Testing

@testable import HTTPTransport

@Suite struct SpinBrakeTests {
  /// The round at which it rests for the first time, of a thousand.
  private func firstRest(_ moved: (Int) -> Int64, _ took: (Int) -> Int64) -> Int? {
    var brake = SpinBrake()
    return (1...1000).first { brake.mustRest(moved: moved($0), pollTook: took($0)) }
  }

  @Test("A-CONN-11: rounds without a wait and without a byte are not borne for long")
  func spins() {
    #expect(firstRest({ _ in 5 }, { _ in 0 }) == 102)
    var brake = SpinBrake()
    let rests = (1...1000).filter { _ in brake.mustRest(moved: 0, pollTook: 1) }
    #expect(rests.count == 900)
  }

  @Test("A-CONN-11: a loop that moves bytes, or whose polls wait, is left alone")
  func works() {
    #expect(firstRest({ Int64($0) }, { _ in 0 }) == nil)
    #expect(firstRest({ _ in 0 }, { _ in 50 }) == nil)
    #expect(firstRest({ Int64($0 / 90) }, { _ in 0 }) == nil)
    #expect(firstRest({ _ in 0 }, { $0 % 90 == 0 ? 2 : 0 }) == nil)
  }
}
