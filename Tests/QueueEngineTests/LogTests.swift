import JSONText
import QueueModel
import Synchronization
import Testing

@testable import QueueEngine
@testable import QueueStore

/// Keeps what it is given.
final class RecordingLog: Log {
  let threshold: LogLevel
  private let lines = Mutex([LogLine]())

  init(_ threshold: LogLevel) { self.threshold = threshold }

  func write(_ line: LogLine) { lines.withLock { $0.append(line) } }

  func clear() { lines.withLock { $0 = [] } }

  /// Message and fields, as `message name=value`.
  var all: [String] {
    lines.withLock { lines in
      lines.map { line in
        let fields = line.fields.map { field in
          switch field.value {
          case .text(let text): " \(field.name)=\(text)"
          case .number(let number): " \(field.name)=\(number)"
          case .json(let json): " \(field.name)=\(json)"
          }
        }
        return "\(line.level.rawValue) \(line.message)" + fields.joined()
      }
    }
  }
}

@Suite struct LogTests {
  private func harness(_ threshold: LogLevel) throws -> (Harness, RecordingLog) {
    let log = RecordingLog(threshold)
    let harness = try Harness(log: log)
    // The first request is followed by the record of the start.
    _ = try harness.stats()
    log.clear()
    return (harness, log)
  }

  private static let secret =
    #"{"url":"http://h.test/p/q?token=s3cret","headers":{"Authorization":"s3cret"},"data":"s3cret"}"#

  @Test("D38: the log tells of attempts and outcomes by id, key and origin, and of nothing that is secret")
  func told() throws {
    let (harness, log) = try harness(.debug)
    try harness.enqueue("a", vars: #"["s3cret"]"#, LogTests.secret)
    try harness.answer(503, body: "s3cret", headers: [("x-s", "s3cret")])
    harness.pass(10_000)
    try harness.answer(422, body: "s3cret")
    #expect(log.all.allSatisfy { !$0.contains("s3cret") && !$0.contains("/p/q") })
    let told = log.all.map { $0.split(separator: " requestId=")[0] }
    #expect(
      told == [
        "debug enqueued id=a key=k disposition=created bytes=8",
        "debug attempt begins id=a attempt=1 origin=http://h.test:80",
        "info attempt failed id=a key=k attempt=1 origin=http://h.test:80 status=503 error=http "
          + "reason=HTTP 503",
        "debug attempt begins id=a attempt=2 origin=http://h.test:80",
        "info attempt failed id=a key=k attempt=2 origin=http://h.test:80 status=422 error=http "
          + "reason=HTTP 422",
        "info settled id=a key=k state=error attempts=2 error=http reason=HTTP 422",
      ])
  }

  @Test("Nothing is told above the level that is asked for")
  func levels() throws {
    let (harness, log) = try harness(.warn)
    try harness.enqueue()
    try harness.answer(200)
    #expect(log.all.isEmpty)
  }

  @Test("D36: trouble with the store is an error once, its end a warning; what was not committed is not told")
  func trouble() throws {
    let (harness, log) = try harness(.debug)
    try harness.setReadOnly(true)
    #expect(throws: Refusal.self) { try harness.enqueue() }
    #expect(throws: Refusal.self) { try harness.enqueue() }
    #expect(log.all.count == 1)
    #expect(
      log.all[0].hasPrefix("error the database cannot be written; what would change it is refused error="))
    log.clear()
    try harness.setReadOnly(false)
    harness.pass(120_000)
    try harness.enqueue()
    #expect(log.all.filter { !$0.hasPrefix("debug") } == ["warn the database can be written again"])
  }

  @Test("D43: a change of the configuration by another host is a warning in the log as well")
  func configured() throws {
    let (harness, log) = try harness(.warn)
    _ = harness.connect()
    try harness.configure(#"{"lifetimeMs":5}"#)
    #expect(log.all == ["warn the configuration was changed by another host"])
  }
}
