import JSONText

/// A file in parts, each with a request of its own.
enum PartsStage: Stage {
  static let name = "parts"
  static let fitsGivenServer = true

  static func run(_ bench: Bench) throws(Setback) {
    let sample = try bench.sample(of: 1_500_007)
    let ends = [500_000, 1_100_000, sample.size]
    let paths = ends.indices.map { "\(Bench.path)/\($0)" }
    let host = try bench.start()
    try bench.enqueue(bench.serve([.answer(404)]), on: host) { request in
      request.member("file", sample.path)
      request.member("parts") { parts in
        parts.array { parts in
          for (index, end) in ends.enumerated() {
            parts.object { part in
              part.member("url", bench.serve([.answer(201)], paths[index]))
              part.member("range") { range in
                range.object {
                  $0.member("start", index == 0 ? 0 : ends[index - 1])
                  $0.member("end", end)
                }
              }
            }
          }
        }
      }
    }
    let outcome = try bench.outcome(on: host)
    try bench.verify(parts: paths, outcome, Expected(attempts: 3, statuses: [201, 201, 201]))
    try bench.end(host, outcome)
  }
}
