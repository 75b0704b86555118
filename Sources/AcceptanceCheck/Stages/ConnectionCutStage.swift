import JSONText

/// The connection is cut half-way.
enum ConnectionCutStage: Stage {
  static let name = "connection cut"
  static let fitsGivenServer = false

  static func run(_ bench: Bench) throws(Setback) {
    let sample = try bench.sample(of: 4_194_311)
    let host = try bench.start()
    let url = bench.serve([.cut(after: sample.size / 2), .answer(201)])
    try bench.enqueue(url, on: host) { $0.member("file", sample.path) }
    let outcome = try bench.outcome(on: host)
    try bench.verify(outcome, Expected(attempts: 2, transportErrors: ["network"]))
    try bench.end(host, outcome)
  }
}
