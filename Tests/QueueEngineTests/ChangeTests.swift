import QueueEngine
import QueueModel
import QueueStore
import Testing

@Suite("An engine that only changes the queue, for commands that people type")
struct ChangeTests {
  private func startRecords(_ harness: Harness) throws -> [Int64] {
    try Reader(reading: harness.directory).diagnostics().filter { $0.record.message == "boot sweep" }
      .map(\.record.at)
  }

  @Test("D39: it carries out what it is asked for, begins no attempt and settles nothing that expires")
  func sendsNothing() throws {
    let harness = try Harness()
    try harness.pause()
    _ = try harness.enqueue("old", Sample.data(1, #""expiresAt":\#(harness.clock.now().wall + 1000)"#))
    try harness.relaunch(sends: false)
    _ = try harness.enqueue("new")
    try harness.resume()
    harness.pass(3_600_000)
    #expect(harness.transport.running.isEmpty)
    #expect(try harness.state("old") == .queued && harness.state("new") == .queued)
    let deadline = harness.engine.deadline()
    #expect(deadline.steady == nil && deadline.wall == nil)
    try harness.relaunch()
    harness.settle()
    #expect(try harness.state("old") == .error && harness.state("new") == .running)
  }

  @Test(
    "D37: it is no start, so the record of the last one stays; what a dead process left running goes back")
  func noStart() throws {
    let harness = try Harness()
    _ = try harness.enqueue("a")
    #expect(try harness.state("a") == .running)
    let before = try startRecords(harness)
    try harness.relaunch(sends: false)
    #expect(try harness.state("a") == .queued && harness.row("a")?.attempts == 1)
    #expect(try startRecords(harness) == before && before.count == 1)
    try harness.relaunch()
    #expect(try startRecords(harness) != before)
  }

  @Test("B229: it cancels what a dead process left running, and forgets what has settled")
  func cancels() throws {
    let harness = try Harness()
    _ = try harness.enqueue("a")
    try harness.relaunch(sends: false)
    try harness.cancel("a")
    #expect(try harness.state("a") == .cancelled)
    try harness.cancel("a")
    #expect(try harness.rows().isEmpty && harness.bodyFiles().isEmpty)
  }
}
