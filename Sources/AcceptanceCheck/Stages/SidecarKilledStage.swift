import JSONText

/// The sidecar is killed half-way and started again.
enum SidecarKilledStage: Stage {
  static let name = "sidecar killed"
  static let fitsGivenServer = true

  static func run(_ bench: Bench) throws(Setback) {
    let sample = try bench.sample(of: 4_194_319)
    let first = try bench.start()
    let url = bench.serve([.hold(after: sample.size / 2), .answer(201)])
    try bench.enqueue(url, on: first) { $0.member("file", sample.path) }
    try bench.waitForHalf(of: sample, on: first)
    try first.kill()
    let second = try bench.start()
    let outcome = try bench.outcome(on: second)
    try bench.verify(outcome, Expected(attempts: 2))
    try bench.end(second, outcome)
  }
}
