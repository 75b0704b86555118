import JSONText

/// What the attempts of an entry should have come to at the check's own receiver.
struct Expected {
  /// An attempt that was stopped half-way leaves neither a status nor an error.
  var attempts: Int64
  var statuses: [Int64] = [201]
  /// Kinds.
  var transportErrors: [String] = []
}

/// Holds what a stage was told against what arrived.
extension Bench {
  /// Holds the outcome of a single request against what arrived. `file` takes the file out of what a receiver
  /// got; nil is the whole body.
  func verify(
    _ outcome: JSON, _ expected: Expected, file: ((Received) -> [UInt8]?)? = nil
  ) throws(Setback) {
    switch server {
    case .given: verifyGiven(outcome)
    case .receiver(let receiver):
      let accepted = try accepted(Bench.path, at: receiver)
      if let file {
        guard let content = file(accepted) else { throw .unmet("the file is not in what arrived") }
        arrived(content.count, SHA256.hex(of: content))
      } else {
        arrived(accepted.count, accepted.sha256)
      }
      try verifyRepeats(receiver)
      try verify(expected)
    }
    try verifyHash()
  }

  /// What arrived in several requests.
  func verify(parts: [String], _ outcome: JSON, _ expected: Expected) throws(Setback) {
    switch server {
    case .given: verifyGiven(outcome)
    case .receiver(let receiver):
      var whole: [UInt8] = []
      for path in parts { whole += try accepted(path, at: receiver).body ?? [] }
      arrived(whole.count, SHA256.hex(of: whole))
      try verify(expected)
    }
    try verifyHash()
  }

  private func arrived(_ bytes: Int, _ sha256: String) {
    evidence.bytes = Int64(bytes)
    evidence.sha256Arrived = sha256
  }

  /// The one request of this path that was accepted.
  private func accepted(_ path: String, at receiver: Receiver) throws(Setback) -> Received {
    let accepted = receiver.requests(path).filter { $0.status == 201 }
    guard accepted.count == 1, receiver.refusals.isEmpty else {
      throw .unmet(
        "the receiver should have accepted 1 request and refused none; "
          + "it accepted \(accepted.count) and refused \(receiver.refusals.count)")
    }
    return accepted[0]
  }

  /// A server can tell a repeat by its Idempotency-Key, and the attempts apart by their X-Request-Id.
  private func verifyRepeats(_ receiver: Receiver) throws(Setback) {
    let heads = receiver.requests(Bench.path).map(\.head)
    let keys = Set(heads.map { $0.value("idempotency-key") })
    let ids = Set(heads.map { $0.value("x-request-id") })
    guard keys.count == 1, !keys.contains(nil), ids.count == heads.count, !ids.contains(nil) else {
      throw .unmet("the attempts should share one Idempotency-Key and each have an X-Request-Id of its own")
    }
  }

  private func verify(_ expected: Expected) throws(Setback) {
    try Bench.same("attempts", expected.attempts, evidence.attempts ?? 0)
    try Bench.same("HTTP statuses", expected.statuses, evidence.statuses)
    try Bench.same("transport errors", expected.transportErrors, evidence.transportErrors.map(\.kind))
    try Bench.same("bytes", Int64(evidence.size), evidence.bytes ?? 0)
  }

  private static func same<Value: Equatable>(
    _ what: String, _ expected: Value, _ found: Value
  ) throws(Setback) {
    if expected != found { throw .unmet("expected \(what) \(expected), found \(found)") }
  }

  /// Only the server knows what it stored, unless its answer holds the file's SHA-256.
  private func verifyGiven(_ outcome: JSON) {
    evidence.bytes = outcome["bytesSent"]?.integer
    let answer = outcome["response"]?["body"]?.string ?? ""
    let names = Array(answer.lowercased().utf8)[...].offset(of: Array(evidence.sha256.utf8)) != nil
    if names { evidence.sha256Arrived = evidence.sha256 }
  }

  private func verifyHash() throws(Setback) {
    if evidence.isSHA256Equal == false { throw .unmet("what arrived is not the file: its SHA-256 differs") }
  }
}
