import Foundation
import JSONText
import OuttrayProtocol
import Testing

@Suite struct OpenMetricsTests {
  private static let stats = """
    {"entries":{"queued":2,"running":1,"awaitingAuth":3,"paused":0,"completed":4,"error":5,"cancelled":6},
    "outcomes":{"unacknowledged":7},"attempts":{"started":12,"completed":8,"failed":3},
    "bytes":{"sent":9007199254740991,"received":40},
    "network":{"type":"cellular","metered":true,"source":"host"},
    "commits":21,"requests":9,"events":{"dropped":0},"later":{"more":1}}
    """

  private func text(_ stats: String, labels: [(name: String, value: String)] = []) throws -> String {
    OpenMetrics.text(of: try JSON(checking: Array(stats.utf8)), labels: labels)
  }

  /// `Tests/Protocol` reads the same file with Prometheus' own parser.
  @Test("Every figure of stats is in the page, as the recorded one has it")
  func page() throws {
    let recorded = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
      .deletingLastPathComponent().appending(path: "Protocol/stats.openmetrics")
    let labels = [(name: "dir", value: "/var/lib/\"notes\"\\a\nb ü")]
    #expect(try text(OpenMetricsTests.stats, labels: labels) == String(contentsOf: recorded, encoding: .utf8))
  }

  @Test("A sidecar that counts less has a shorter page; none at all is a page too")
  func absent() throws {
    #expect(
      try text(#"{"commits":3,"attempts":{"failed":1},"network":{"type":"none"}}"#) == """
        # HELP outtray_served 1 while a process serves the queue.
        # TYPE outtray_served gauge
        outtray_served 1
        # HELP outtray_attempts_ended Attempts ended since then; stopped ones are left out.
        # TYPE outtray_attempts_ended counter
        outtray_attempts_ended_total{outcome="failed"} 1
        # HELP outtray_commits Transactions that changed the store.
        # TYPE outtray_commits counter
        outtray_commits_total 3
        # HELP outtray_network 1 for what the machine is connected by.
        # TYPE outtray_network gauge
        outtray_network{type="wifi"} 0
        outtray_network{type="ethernet"} 0
        outtray_network{type="cellular"} 0
        outtray_network{type="none"} 1
        # EOF

        """)
    #expect(try text("{}") == "# EOF\n")
  }
}
