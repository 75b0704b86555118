import JSONText
import Testing

@testable import AcceptanceCheck

private func evidence(_ verdict: Evidence.Verdict = .ok) -> Evidence {
  var evidence = Evidence(stage: "connection cut")
  evidence.size = 4_194_311
  evidence.bytes = 4_194_311
  evidence.attempts = 2
  evidence.statuses = [500, 201]
  evidence.transportErrors = [.init(kind: "network", message: "reset \"x\"")]
  evidence.sha256 = "aa"
  evidence.sha256Arrived = "aa"
  evidence.milliseconds = 41
  evidence.verdict = verdict
  return evidence
}

@Suite("The evidence as a table and as JSON")
struct EvidenceTableTests {
  @Test("columns line up, and status and transport error are apart")
  func rows() {
    var differs = evidence(.failed("why"))
    differs.sha256Arrived = "bb"
    var notRun = Evidence(stage: "plain")
    notRun.verdict = .notRun
    let left = "stage               bytes  attempts  HTTP status   "
    #expect(EvidenceTable.heading == "\(left)transport error  SHA-256 equal      time  verdict")
    let cut = "connection cut    4194311         2  500 201       network        "
    #expect(EvidenceTable.row(evidence()) == cut + "  yes               41 ms  ok")
    #expect(EvidenceTable.row(differs) == cut + "  NO                41 ms  FAILED")
    let unknown =
      "plain                   -         -  -             -                -                     -"
    #expect(EvidenceTable.row(notRun) == unknown + "  not run against a given server")
  }

  @Test("a SHA-256 that nobody can tell is neither equal nor different")
  func unknownHash() throws {
    var unknown = evidence()
    unknown.sha256Arrived = nil
    #expect(EvidenceTable.row(unknown).contains("network          -  "))
    let json = try JSON(checking: Array(EvidenceTable.json(unknown).utf8))
    #expect(json["sha256Equal"] == nil && json["sha256Arrived"] == nil)
  }

  @Test("JSON says the same, with both digests, messages and the reason")
  func json() throws {
    let expected = #"""
      {"stage":"connection cut","verdict":"failed","reason":"why","size":4194311,"bytes":4194311,\#
      "attempts":2,"httpStatuses":[500,201],"transportErrors":[{"kind":"network","message":"reset \"x\""}],\#
      "sha256":"aa","sha256Arrived":"aa","sha256Equal":true,"ms":41}
      """#
    #expect(EvidenceTable.json(evidence(.failed("why"))) == expected)
    var notRun = Evidence(stage: "plain")
    notRun.verdict = .notRun
    #expect(EvidenceTable.json(notRun) == #"{"stage":"plain","verdict":"notRun"}"#)
  }

  @Test(
    "the whole holds when every stage that was run does, and at least one was",
    arguments: [
      ([Evidence.Verdict.ok, .ok], true, "all of it holds"), ([.ok, .notRun], true, "all of it holds"),
      ([.ok, .failed("why"), .notRun], false, "1 of 2 stages failed"),
      ([.notRun], false, "0 of 0 stages failed"), ([], false, "0 of 0 stages failed"),
    ])
  func whole(verdicts: [Evidence.Verdict], holds: Bool, last: String) {
    var lines: [String] = []
    var report = Report(.table) { lines.append($0) }
    for verdict in verdicts { report.add(evidence(verdict)) }
    report.end(version: "1", server: "s", remarks: ["remark"])
    #expect(report.holds == holds)
    #expect(lines.suffix(2) == ["remark", last])
    #expect(lines.contains("connection cut: why") == (last == "1 of 2 stages failed"))
  }
}
