import Testing

@testable import QueueModel

@Suite("The circuit of an origin")
struct CircuitTests {
  private func attempt(_ entry: Int64) -> AttemptID { AttemptID(entry: entry, generation: 1, ordinal: 1) }

  /// Failures of these entries, one each ms from 1 on.
  private func failed(_ entries: [Int64], asksFor: Int64? = nil) -> Circuit {
    var circuit = Circuit()
    for (place, entry) in entries.enumerated() {
      circuit.fail(entry, at: Int64(place) + 1, asksFor: asksFor)
    }
    return circuit
  }

  @Test(
    "D52: five different entries in a row open it; one that fails again and again does not",
    arguments: [
      ([1, 2, 3, 4], Circuit.Phase.closed), ([1, 2, 3, 4, 5], .open), ([1, 1, 1, 1, 1, 1, 1], .closed),
      ([1, 1, 2, 2, 3, 3, 4, 4, 5], .open), ([1, 2, 1, 2, 1, 2, 1, 2], .closed),
    ])
  func opens(_ entries: [Int64], _ phase: Circuit.Phase) {
    let circuit = failed(entries)
    #expect(circuit.phase(at: Int64(entries.count)) == phase)
    #expect(circuit.admits(at: Int64(entries.count)) == (phase == .closed))
  }

  @Test("D52: an answer between them begins the row anew")
  func interrupted() {
    var circuit = failed([1, 2, 3, 4])
    circuit.succeeded()
    for entry in 5...8 as ClosedRange<Int64> { circuit.fail(entry, at: 10 + entry) }
    #expect(circuit.phase(at: 20) == .closed)
  }

  @Test("D52: after its rest one attempt at a time tries; success closes it, failure opens it for longer")
  func halfOpen() {
    var circuit = failed([1, 2, 3, 4, 5])
    #expect(circuit.restsUntil == 1005)
    #expect(!circuit.admits(at: 1004))
    #expect(circuit.phase(at: 1005) == .halfOpen)
    #expect(circuit.admits(at: 1005))
    circuit.began(attempt(6))
    #expect(!circuit.admits(at: 1010))
    circuit.fail(6, begunAt: 1005, at: 1010)
    circuit.ended(attempt(6))
    #expect(circuit.restsUntil == 3010)
    circuit.began(attempt(7))
    circuit.ended(attempt(7))
    #expect(circuit.admits(at: 3010))
    circuit.succeeded()
    #expect(circuit.phase(at: 3010) == .closed)
    #expect(circuit.admits(at: 3010))
  }

  @Test("D52: rests grow to half a minute")
  func rests() {
    var circuit = failed([1, 2, 3, 4, 5])
    var lengths: [Int64] = []
    for entry in 6...14 as ClosedRange<Int64> {
      guard let until = circuit.restsUntil else { break }
      circuit.fail(entry, begunAt: until, at: until)
      lengths.append((circuit.restsUntil ?? 0) - until)
    }
    #expect(lengths == [2000, 4000, 8000, 16_000, 30_000, 30_000, 30_000, 30_000, 30_000])
  }

  @Test(
    "D52: what the server asks for counts at the first failure, up to a minute",
    arguments: [(500, 1000), (7000, 7000), (3_600_000, 60_000)] as [(Int64, Int64)])
  func asked(_ asksFor: Int64, _ length: Int64) {
    #expect(failed([1], asksFor: asksFor).restsUntil == 1 + length)
  }

  @Test("D52: attempts that began before it opened tell nothing new, but how long to wait")
  func late() {
    var circuit = failed([1, 2, 3, 4, 5])
    circuit.fail(9, begunAt: 3, at: 900)
    #expect(circuit.restsUntil == 1005)
    circuit.fail(9, begunAt: 3, at: 900, asksFor: 5000)
    #expect(circuit.restsUntil == 5900)
  }

  @Test("D44, D52: a person's retry ends the rest")
  func byHand() {
    var circuit = failed([1, 2, 3, 4, 5])
    circuit.tryNow(at: 100)
    #expect(circuit.admits(at: 100))
    #expect(circuit.phase(at: 100) == .halfOpen)
  }

  @Test("D51, D52: what a result says of the server")
  func signs() {
    func sign(_ status: Int, _ headers: [(name: String, value: String)] = []) -> ServerSign {
      let answer = Answer(status: status, headers: headers)
      return AttemptResult(answer: answer, requestWentWhole: true, answeredAfterMs: 7).sign(at: 0)
    }
    for status in [200, 204, 302, 401, 404, 422] { #expect(sign(status) == .well(afterMs: 7)) }
    for status in [408, 500, 502, 504] { #expect(sign(status) == .failing(retryAfterMs: nil)) }
    #expect(sign(407) == .none)
    #expect(sign(429, [("retry-after", "3")]) == .busy(retryAfterMs: 3000))
    #expect(sign(503, [("retry-after", "x")]) == .overloaded(retryAfterMs: nil))
    let cases: [(TransferFailure.Cause, ServerSign)] = [
      (.beforeRequest, .none), (.bodyMissing, .none), (.bodyChanged, .none), (.bodyUnreadable, .none),
      (.afterRequestBegan, .failing(retryAfterMs: nil)),
    ]
    for (cause, expected) in cases {
      let failure = TransferFailure(cause, "scripted")
      #expect(AttemptResult(failure: failure, requestWentWhole: false).sign(at: 0) == expected)
    }
    let idle = AttemptResult(
      failure: TransferFailure(.afterRequestBegan, "scripted"), requestWentWhole: false,
      connectionWasReused: true)
    #expect(idle.sign(at: 0) == .none)
    let cut = Answer(status: 200, completeness: .cut)
    #expect(AttemptResult(answer: cut, requestWentWhole: true).sign(at: 0) == .failing(retryAfterMs: nil))
  }
}

extension Circuit {
  /// A failure of an attempt that began now, without jitter.
  fileprivate mutating func fail(
    _ entry: Int64, begunAt: Int64? = nil, at now: Int64, asksFor: Int64? = nil
  ) {
    failed(entry: entry, begunAt: begunAt ?? now, asksFor: asksFor, at: now, fraction: 0.5)
  }
}
