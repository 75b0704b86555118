import Testing

@testable import QueueModel

@Suite("Judgement of results")
struct JudgeTests {
  /// What a verdict amounts to, in a word.
  private func word(_ verdict: Verdict) -> String {
    switch verdict {
    case .accepted: "accepted"
    case .acceptedThoughUnusable: "accepted, unusable"
    case .needsCredentials: "credentials"
    case .transient(let kind, _, _, _, _): "again (\(kind.rawValue))"
    case .terminal(let kind, _): "end (\(kind.rawValue))"
    }
  }

  private func judged(
    _ result: AttemptResult, accept: [AcceptRule] = [], policy: RetryPolicy = RetryPolicy(),
    failures: FailureCounts = FailureCounts()
  ) -> String {
    word(judge(result, accept: accept, policy: policy, failures: failures))
  }

  @Test("B164, A-RETRY-07, D13: every status, by default")
  func everyStatus() {
    for status in 100...599 {
      let expected =
        switch status {
        case 200...299: "accepted"
        case 401, 403: "credentials"
        case 407: "again (network)"
        case 404, 408, 429, 500...599: "again (http)"
        default: "end (http)"
        }
      #expect(judged(.answer(status)) == expected, "\(status)")
    }
  }

  @Test(
    "D11: an accept rule outranks every class",
    arguments: [300, 304, 400, 401, 403, 404, 407, 408, 429, 500, 503])
  func acceptFirst(status: Int) {
    #expect(judged(.answer(status), accept: [AcceptRule(status: status)]) == "accepted")
    #expect(judged(.answer(status), accept: [AcceptRule(status: 418)]) != "accepted")
  }

  @Test("A-REDIR-06, D20: a redirect that was refused says why")
  func refusedRedirect() {
    var result = AttemptResult.answer(307)
    result.failure = TransferFailure(.afterRequestBegan, "redirect refused: from https to http")
    let verdict = judge(result, accept: [], policy: RetryPolicy(), failures: FailureCounts())
    #expect(verdict == .terminal(.http, message: "HTTP 307: redirect refused: from https to http"))
  }

  @Test("B164, B191: an accept rule's text has to occur in the body, byte for byte")
  func acceptText() {
    let rule = [AcceptRule(status: 409, bodyIncludes: "already é completed")]
    #expect(judged(.answer(409, "x already é completed y"), accept: rule) == "accepted")
    #expect(judged(.answer(409, "already e\u{301} completed"), accept: rule) == "end (http)")
    #expect(judged(.answer(409, "already"), accept: rule) == "end (http)")
    #expect(judged(.answer(409, ""), accept: rule) == "end (http)")
    #expect(judged(.answer(410, "already é completed"), accept: rule) == "end (http)")
    #expect(
      judged(.answer(409, "ab", .capped), accept: [AcceptRule(status: 409, bodyIncludes: "c")])
        == "end (http)")
    #expect(judged(.answer(409, "aab"), accept: [AcceptRule(status: 409, bodyIncludes: "ab")]) == "accepted")
  }

  @Test("D11, D43: text missing from a cut answer is transient, unless another rule accepts")
  func acceptCut() {
    let rule = AcceptRule(status: 409, bodyIncludes: "done")
    #expect(judged(.answer(409, "do", .cut), accept: [rule]) == "again (network)")
    #expect(judged(.answer(409, "done", .cut), accept: [rule]) == "accepted")
    #expect(judged(.answer(409, "do", .cut), accept: [rule, AcceptRule(status: 409)]) == "accepted")
    #expect(
      judged(.answer(401, "do", .cut), accept: [AcceptRule(status: 401, bodyIncludes: "x")])
        == "again (network)")
    #expect(judged(.answer(409, "do", .cut)) == "end (http)")
    #expect(judged(.answer(409, "do", .unusable), accept: [rule]) == "end (http)")
  }

  @Test("D12: a status does not make a transfer whole")
  func successNeedsWholeRequest() {
    var early = AttemptResult.answer(200)
    early.requestWentWhole = false
    #expect(judged(early) == "again (network)")
    early.answer?.completeness = .unusable
    #expect(judged(early) == "again (network)")
    #expect(judged(early, accept: [AcceptRule(status: 200)]) == "again (network)")
    #expect(judged(.answer(200, "x", .capped)) == "accepted")
    #expect(judged(.answer(200, "x", .unusable)) == "accepted, unusable")
  }

  @Test("D12: the fifth cut 2xx in a row counts")
  func cutAnswers() {
    var failures = FailureCounts()
    for cut in 0..<4 {
      failures.cutAnswers = Int64(cut)
      #expect(judged(.answer(200, "x", .cut), failures: failures) == "again (network)")
    }
    failures.cutAnswers = 4
    #expect(judged(.answer(200, "x", .cut), failures: failures) == "accepted, unusable")
    var early = AttemptResult.answer(200, "x", .cut)
    early.requestWentWhole = false
    #expect(judged(early, failures: failures) == "again (network)")
  }

  @Test(
    "A-EARLY-01, D12: any other complete head is the answer, however little was sent",
    arguments: [413, 400, 302])
  func earlyAnswer(status: Int) {
    var result = AttemptResult.answer(status)
    result.requestWentWhole = false
    result.failure = TransferFailure(.afterRequestBegan, "send failed")
    #expect(judged(result) == "end (http)")
  }

  @Test("D11, A-CONN-03: no complete final head is a network failure")
  func noAnswer() {
    #expect(judged(.failure(.afterRequestBegan)) == "again (network)")
    #expect(judged(.failure(.beforeRequest)) == "again (network)")
    #expect(judged(AttemptResult(requestWentWhole: true)) == "again (network)")
    #expect(
      judge(
        .failure(.beforeRequest, "no route"), accept: [], policy: RetryPolicy(), failures: FailureCounts())
        == .transient(
          kind: .network, message: "no route", rule: nil, beforeRequest: true, followAtOnce: false))
  }

  @Test("D30, B166, B190: a body that is gone ends it; one that cannot be read now does not")
  func bodies() {
    #expect(judged(.failure(.bodyMissing)) == "end (file)")
    #expect(judged(.failure(.bodyUnreadable)) == "again (file)")
    var answered = AttemptResult.answer(503)
    answered.failure = TransferFailure(.bodyMissing, "gone")
    #expect(judged(answered) == "end (file)")
    answered.failure = TransferFailure(.bodyUnreadable, "busy")
    #expect(judged(answered) == "again (http)")
  }

  @Test("D18: a reused connection that died before any byte of an answer is followed at once, once")
  func followAtOnce() {
    func follows(_ change: (inout AttemptResult, inout FailureCounts) -> Void) -> Bool? {
      var result = AttemptResult.failure(.afterRequestBegan)
      result.connectionWasReused = true
      var failures = FailureCounts()
      change(&result, &failures)
      guard
        case .transient(_, _, _, _, let follows) = judge(
          result, accept: [], policy: RetryPolicy(), failures: failures)
      else { return nil }
      return follows
    }
    #expect(follows { _, _ in } == true)
    #expect(follows { result, _ in result.connectionWasReused = false } == false)
    #expect(follows { result, _ in result.bytesReceived = 1 } == false)
    #expect(follows { result, _ in result.failure?.cause = .beforeRequest } == false)
    #expect(follows { _, failures in failures.followedReuse = true } == false)
  }

  @Test("B165: 401 and 403 need credentials even when exempt")
  func exemptCannotRescueAuth() {
    var policy = RetryPolicy()
    policy.exempt = [401, 403]
    #expect(judged(.answer(401), policy: policy) == "credentials")
    #expect(judged(.answer(403), policy: policy) == "credentials")
  }

  @Test("B164, B192: exempt decides what no rule matched")
  func exempt() {
    var policy = RetryPolicy()
    policy.exempt = []
    #expect(judged(.answer(404), policy: policy) == "end (http)")
    policy.exempt = [410]
    #expect(judged(.answer(410), policy: policy) == "again (http)")
    policy.exempt = [304]
    #expect(judged(.answer(304), policy: policy) == "end (http)")
  }

  @Test("B298, D17: the first matching rule counts, shadows exempt, and ends at its cap")
  func transientRules() {
    var policy = RetryPolicy()
    policy.transient = [
      TransientRule(status: 404, bodyIncludes: "soon", maxRetries: 2),
      TransientRule(status: 422, maxRetries: 0),
      TransientRule(status: 423), TransientRule(status: 409, bodyIncludes: "x", maxRetries: 0),
      TransientRule(status: 409),
    ]
    var failures = FailureCounts()
    #expect(judged(.answer(404, "soon"), policy: policy, failures: failures) == "again (http)")
    failures.rules = [RuleCount(status: 404, bodyIncludes: "soon", count: 2)]
    #expect(judged(.answer(404, "soon"), policy: policy, failures: failures) == "end (http)")
    #expect(judged(.answer(404, "other"), policy: policy, failures: failures) == "again (http)")
    #expect(judged(.answer(422), policy: policy) == "end (http)")
    failures.rules = [RuleCount(status: 423, bodyIncludes: nil, count: .max - 1)]
    #expect(judged(.answer(423), policy: policy, failures: failures) == "again (http)")
    #expect(judged(.answer(409, "x"), policy: policy) == "end (http)")
    #expect(judged(.answer(409, "y"), policy: policy) == "again (http)")
    #expect(judged(.answer(404, "so", .cut), policy: policy) == "again (network)")
  }

  @Test("B298: a count belongs to status and text, not to the place or the cap")
  func ruleCounts() {
    var failures = FailureCounts()
    failures.countOne(of: TransientRule(status: 422, bodyIncludes: "a", maxRetries: 3))
    failures.countOne(of: TransientRule(status: 423))
    failures.countOne(of: TransientRule(status: 422, bodyIncludes: "a", maxRetries: 9))
    #expect(failures.count(of: TransientRule(status: 422, bodyIncludes: "a")) == 2)
    #expect(failures.count(of: TransientRule(status: 423, maxRetries: 1)) == 1)
    #expect(failures.count(of: TransientRule(status: 422)) == 0)
    #expect(failures.count(of: TransientRule(status: 422, bodyIncludes: "b")) == 0)
    failures.countOne(of: TransientRule(status: 424, bodyIncludes: "\u{E9}"))
    #expect(failures.count(of: TransientRule(status: 424, bodyIncludes: "e\u{301}")) == 0)
  }
}
