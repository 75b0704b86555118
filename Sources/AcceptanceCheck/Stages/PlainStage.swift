import JSONText

/// A file as the whole body.
enum PlainStage: Stage {
  static let name = "plain"
  static let fitsGivenServer = true

  static func run(_ bench: Bench) throws(Setback) {
    let sample = try bench.sample(of: 1_048_583)
    let host = try bench.start()
    try bench.enqueue(bench.serve([.answer(201)]), on: host) { $0.member("file", sample.path) }
    let outcome = try bench.outcome(on: host)
    try bench.verify(outcome, Expected(attempts: 1))
    try bench.end(host, outcome)
  }
}
