import JSONText

/// The host goes half-way and comes back; then it goes with the outcome in its hands, unacknowledged.
enum HostGoneStage: Stage {
  static let name = "host gone"
  static let fitsGivenServer = true

  static func run(_ bench: Bench) throws(Setback) {
    let sample = try bench.sample(of: 4_194_329)
    let first = try bench.start()
    let url = bench.serve([.hold(after: sample.size / 2), .answer(201)])
    try bench.enqueue(url, on: first) { $0.member("file", sample.path) }
    try bench.waitForHalf(of: sample, on: first)
    try first.leave()
    let second = try bench.start()
    let told = try bench.outcome(on: second)
    try second.leave()
    let third = try bench.start()
    let again = try bench.outcome(on: third)
    try bench.verify(again, Expected(attempts: 2))
    guard again["eventId"] == told["eventId"],
      again["deliveries"]?.integer == 1 + (told["deliveries"]?.integer ?? 0)
    else { throw .unmet("the unacknowledged outcome should have come a second time, and said so") }
    try bench.end(third, again)
  }
}
