import JSONText

/// The server says 500, then 201.
enum ServerErrorStage: Stage {
  static let name = "500 then 201"
  static let fitsGivenServer = false

  static func run(_ bench: Bench) throws(Setback) {
    let sample = try bench.sample(of: 300_007)
    let host = try bench.start()
    try bench.enqueue(bench.serve([.answer(500), .answer(201)]), on: host) { $0.member("file", sample.path) }
    let outcome = try bench.outcome(on: host)
    try bench.verify(outcome, Expected(attempts: 2, statuses: [500, 201]))
    try bench.end(host, outcome)
  }
}
