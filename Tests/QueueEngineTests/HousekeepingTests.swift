import Foundation
import Glibc
import JSONText
import QueueEngine
import QueueModel
import QueueStore
import Synchronization
import Testing

/// The record of a start, and what is cleared away after it.
@Suite struct HousekeepingTests {
  private func records(_ harness: Harness) throws -> [Diagnostic] { try harness.call { .diagnostics($0) } }

  private func orphans(_ record: Diagnostic?) -> String? { record?.figures?["orphans"]?.description }

  @Test("B303: a clean install has one record of its start, with zeros; taken once")
  func clean() throws {
    let harness = try Harness()
    let taken = try records(harness)
    #expect(taken.map(\.message) == ["boot sweep"] && taken.map(\.level) == [.info])
    #expect(
      taken.first?.figures?.description
        == #"{"entries":{"queued":0,"running":0,"awaitingAuth":0,"paused":0,"completed":0,"error":0,"#
        + #""cancelled":0},"keys":{},"#
        + #""orphans":{"dirs":0,"files":0,"bytes":0,"removedFiles":0,"removedBytes":0}}"#)
    #expect(try records(harness).isEmpty)
  }

  @Test("B303: entries are counted as the start found them, by state and key; what ran counts as running")
  func asFound() throws {
    let harness = try Harness()
    try harness.pause("held")
    try harness.enqueue("held", key: "held")
    try harness.enqueue("parked", key: "l")
    try harness.answer(401)
    try harness.enqueue("runs")
    try harness.enqueue("failed")
    try harness.answer(400, body: "")
    try harness.relaunch()
    let record = try #require(try records(harness).last)
    let entries = try #require(record.figures?["entries"])
    for (state, count) in [("running", 1), ("paused", 1), ("awaitingAuth", 1), ("error", 1), ("queued", 0)] {
      #expect(entries[state]?.integer == Int64(count), "\(state)")
    }
    #expect(record.figures?["keys"]?.description.contains(#""held":1"#) == true)
    #expect(record.figures?["keys"]?["k"]?.integer == 1)
    #expect(record.figures?["keys"]?["l"]?.integer == 1)
  }

  @Test("B303: a record that nobody took gives way to the next start's; warnings stay")
  func replaced() throws {
    let harness = try Harness()
    try harness.store.write(durable: true) {
      try $0.addDiagnostic(Diagnostic(at: 1, level: .warn, message: "w"), isBoot: false)
    }
    try harness.relaunch()
    _ = try harness.stats()
    try harness.relaunch()
    #expect(try records(harness).map(\.message) == ["w", "boot sweep"])
  }

  private func leave(_ count: Int, in harness: Harness) throws -> String {
    let folder = try #require(
      FileManager.default.contentsOfDirectory(atPath: harness.directory).first { $0.hasPrefix("bodies-") })
    for number in 0..<count {
      let path = "\(harness.directory)/\(folder)/body-\(UUID().uuidString.lowercased())"
      try Data(repeating: 7, count: 10 + number).write(to: URL(fileURLWithPath: path))
      var times = [timespec(tv_sec: 1000, tv_nsec: 0), timespec(tv_sec: 1000, tv_nsec: 0)]
      utimensat(AT_FDCWD, path, &times, 0)
    }
    return "\(harness.directory)/\(folder)"
  }

  @Test(
    "B304, D37: orphans go after the first answer, not before; whoever takes the record early waits for them")
  func sweep() throws {
    let harness = try Harness()
    let folder = try leave(600, in: harness)
    harness.settle()
    #expect(try FileManager.default.contentsOfDirectory(atPath: folder).count == 600)
    // One turn, without what comes between turns.
    let early = Replies<[Diagnostic]>()
    harness.engine.process([.diagnostics(early.completion)])
    #expect(early.count == 0)
    #expect(!harness.engine.tidy(idle: false))
    #expect(early.count == 0)
    #expect(try FileManager.default.contentsOfDirectory(atPath: folder).count > 300)
    harness.settle()
    let bytes = (0..<600).reduce(0) { $0 + 10 + $1 }
    #expect(
      orphans(try early.get().last)
        == #"{"dirs":0,"files":0,"bytes":0,"removedFiles":600,"removedBytes":\#(bytes)}"#)
    #expect(try FileManager.default.contentsOfDirectory(atPath: folder).isEmpty)
    // The next start finds nothing, and does not look twice.
    try harness.relaunch()
    #expect(orphans(try records(harness).last)?.contains(#""removedFiles":0"#) == true)
  }

  @Test("D37: while the queue is busy nothing is looked at unless somebody waits for it")
  func busy() throws {
    let harness = try Harness()
    let folder = try leave(1, in: harness)
    harness.engine.process([.stats { _ in }])
    #expect(harness.engine.tidy(idle: false))
    #expect(try FileManager.default.contentsOfDirectory(atPath: folder).count == 1)
  }

  @Test("Section 5: who still waits for the record when the process gives up gets E_SHUTDOWN")
  func givenUp() throws {
    let harness = try Harness()
    let early = Replies<[Diagnostic]>()
    harness.engine.process([.diagnostics(early.completion), .giveUp])
    #expect { try early.get() } throws: { if case .shutdown = $0 as? Refusal { true } else { false } }
    try harness.relaunch()
    #expect(try records(harness).map(\.message) == ["boot sweep"])
  }

  // MARK: Sources that are not found in time

  /// Answers of workers whose stager waits where the test says.
  private final class Desk: Sendable {
    let results = Mutex<[StagingTicket: Result<StagingProduct, StageError>]>([:])
    let changed = DispatchSemaphore(value: 0)

    func wait(for ticket: StagingTicket) throws -> Result<StagingProduct, StageError> {
      let end = DispatchTime.now() + 20
      while true {
        if let result = results.withLock({ $0[ticket] }) { return result }
        try #require(changed.wait(timeout: end) == .success, "the work was not answered")
      }
    }
  }

  private func work(_ number: UInt64, _ path: String, _ more: String = "") throws -> StagingWork {
    StagingWork(
      ticket: StagingTicket(number: number), kind: number % 2 == 0 ? .stamps : .body,
      request: try Descriptor(reading: JSON(checking: Array(Sample.file(path, more).utf8))))
  }

  @Test("D29: a source that is not found in time is refused, its thread replaced, and bodies of others go on")
  func late() throws {
    let harness = try Harness()
    let path = try harness.source()
    var stager = harness.store.stager
    let hang = Mutex(6)
    let gate = DispatchSemaphore(value: 0)
    stager.onLooking = {
      let hangs = hang.withLock { left in
        left -= 1
        return left >= 0
      }
      if hangs { gate.wait() }
    }
    let desk = Desk()
    let workers = StagingWorkers(stager, patienceMs: 50) { ticket, result in
      desk.results.withLock { results in
        if results.updateValue(result, forKey: ticket) != nil { Issue.record("answered twice") }
      }
      desk.changed.signal()
    }
    try workers.start()
    for number in 1...6 { workers.take(try work(UInt64(number), path)) }
    for number in 1...6 {
      guard case .failure(.late("request.file")) = try desk.wait(for: .init(number: UInt64(number))) else {
        Issue.record("\(number) was found")
        return
      }
    }
    workers.take(try work(7, path))
    guard case .success(.body) = try desk.wait(for: .init(number: 7)) else {
      Issue.record("the next body was not staged")
      return
    }
    // The file system answers after all: nothing more comes of it.
    for _ in 1...6 { gate.signal() }
    workers.take(try work(9, path))
    guard case .success(.body) = try desk.wait(for: .init(number: 9)) else {
      Issue.record("the next body was not staged")
      return
    }
  }

  @Test("D29: a copy that takes long is not one that is not found")
  func slowCopy() throws {
    let harness = try Harness()
    let path = try harness.source()
    var stager = harness.store.stager
    let gate = DispatchSemaphore(value: 0)
    stager.onCopied = { gate.wait() }
    let desk = Desk()
    let workers = StagingWorkers(stager, patienceMs: 20) { ticket, result in
      desk.results.withLock { $0[ticket] = result }
      desk.changed.signal()
    }
    try workers.start()
    workers.take(try work(1, path))
    // A second source that is late shows that the time of the first is over too.
    let second = try work(3, path)
    stager.onLooking = { gate.wait() }
    let others = StagingWorkers(stager, patienceMs: 40) { ticket, result in
      desk.results.withLock { $0[ticket] = result }
      desk.changed.signal()
    }
    try others.start()
    others.take(second)
    guard case .failure(.late) = try desk.wait(for: second.ticket) else {
      Issue.record("the second was found")
      return
    }
    #expect(desk.results.withLock { $0[StagingTicket(number: 1)] } == nil)
    for _ in 0..<4 { gate.signal() }
    guard case .success = try desk.wait(for: .init(number: 1)) else {
      Issue.record("the copy was given up")
      return
    }
  }
}
