import Testing

@testable import QueueModel

@Suite("Outages of an origin")
struct OutageTests {
  private static let now = Moment(wall: 900, steady: 50)
  private static let lasting = Outage(number: 3, since: 10)
  private static let over = Outage(number: 3, since: 10, endedAt: 20)

  @Test("D16: what a result says of the origin")
  func reach() {
    func result(_ cause: TransferFailure.Cause?, answer: Answer? = nil) -> AttemptResult {
      AttemptResult(
        answer: answer, failure: cause.map { TransferFailure($0, "scripted") }, requestWentWhole: false)
    }
    #expect(result(.beforeRequest).reach == .unreachable)
    #expect(result(.afterRequestBegan).reach == .reached)
    #expect(result(nil, answer: Answer(status: 503)).reach == .reached)
    #expect(result(.afterRequestBegan, answer: Answer(status: 413)).reach == .reached)
    #expect(result(.bodyMissing).reach == .unknown)
    #expect(result(.bodyUnreadable).reach == .unknown)
  }

  @Test("D16: an outage begins with an attempt that could not be sent, unless one begun since was")
  func begins() {
    func after(begunAt: Int64, lastReachedBy: Int64, _ current: Outage?) -> Outage? {
      Outage.after(
        .unreachable, begunAt: begunAt, lastReachedBy: lastReachedBy, current: current, now: Self.now)
    }
    #expect(after(begunAt: 40, lastReachedBy: .min, nil) == Outage(number: 1, since: 50))
    #expect(after(begunAt: 40, lastReachedBy: 39, Self.over) == Outage(number: 4, since: 50))
    #expect(after(begunAt: 40, lastReachedBy: 40, Self.over) == nil)
    #expect(after(begunAt: 40, lastReachedBy: 45, nil) == nil)
    #expect(after(begunAt: 40, lastReachedBy: .min, Self.lasting) == nil)
  }

  @Test("D16: an outage that lasts ends when the origin is reached, once")
  func ends() {
    func after(_ reach: Outage.Reach, _ current: Outage?) -> Outage? {
      Outage.after(reach, begunAt: 40, lastReachedBy: .min, current: current, now: Self.now)
    }
    #expect(after(.reached, Self.lasting) == Outage(number: 3, since: 10, endedAt: 50))
    #expect(after(.reached, Self.over) == nil)
    #expect(after(.reached, nil) == nil)
    #expect(after(.unknown, Self.lasting) == nil)
  }
}
