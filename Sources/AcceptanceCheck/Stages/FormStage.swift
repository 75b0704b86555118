import JSONText

/// A file as a field of a form.
enum FormStage: Stage {
  static let name = "form"
  static let fitsGivenServer = true

  static func run(_ bench: Bench) throws(Setback) {
    let sample = try bench.sample(of: 200_003)
    let host = try bench.start()
    try bench.enqueue(bench.serve([.answer(201)]), on: host) { request in
      request.member("form") { form in
        form.array { fields in
          fields.object {
            $0.member("name", "title")
            $0.member("contentType", "text/plain")
            $0.member("string", "outtray check")
          }
          fields.object {
            $0.member("name", "file")
            $0.member("contentType", "application/octet-stream")
            $0.member("path", sample.path)
          }
        }
      }
    }
    let outcome = try bench.outcome(on: host)
    try bench.verify(outcome, Expected(attempts: 1)) { MultipartBody($0)?.field("file") }
    try bench.end(host, outcome)
  }
}
