import QueueModel
import QueueStore

/// What is done between turns, and the record of the start that comes of it.
extension QueueEngine {
  /// Work that no answer waits for, a little of it; call it after each turn. False when more can be done at
  /// once.
  package func tidy(idle: Bool) -> Bool {
    let isTidy = store.rest(idle: idle)
    guard store.damage == nil, let boot, hasBeenAsked, idle || !state.waitingForSweep.isEmpty else {
      return isTidy
    }
    switch store.sweepOrphans(limit: QueueEngine.sweptAtOnce) {
    case .goesOn: return false
    case .later: return isTidy
    case .done(let report):
      self.boot = nil
      process([.swept(report, boot)])
      return isTidy
    }
  }

  /// Names looked at between two turns: about a millisecond.
  private static let sweptAtOnce = 256

  /// How this start found the queue.
  func bootRecord(_ writer: Writer, now: Moment) throws(StoreError) -> BootRecord {
    let buckets = try writer.counts()
    let counts = state.gates.countByState(buckets, apart: try state.misplaced(writer))
    let entries = Row.State.allCases.map { (state: $0.countName, count: counts[$0] ?? 0) }
    var keys: [EntryKey: Int64] = [:]
    for bucket in buckets where bucket.live > 0 { keys[bucket.key, default: 0] += bucket.live }
    return BootRecord(at: now.wall, entries: entries, keys: keys)
  }
}

extension Turn {
  /// Waits for the record of the start to be complete: a host takes it once, early.
  mutating func takeDiagnostics(
    _ command: Command, _ reply: @escaping Completion<[Diagnostic]>, _ writer: Writer
  ) throws(StoreError) {
    guard state.isSwept else { return state.waitingForSweep.append(command) }
    mustSync()
    answer(reply, try writer.takeDiagnostics())
  }

  /// The record of the start is complete: it takes the place of the one without the count.
  mutating func swept(_ report: OrphanReport, _ boot: BootRecord, _ writer: Writer) throws(StoreError) {
    mustSync()
    for warning in report.warnings {
      let diagnostic = Diagnostic(at: now.wall, level: .warn, message: warning.message, error: warning.error)
      try writer.addDiagnostic(diagnostic, isBoot: false)
    }
    var boot = boot
    boot.orphans = report.count
    try writer.addDiagnostic(boot.diagnostic, isBoot: true)
    log(.info, LogLine(boot.diagnostic))
    state.isSwept = true
    let waiting = state.waitingForSweep
    state.waitingForSweep = []
    try release(waiting, writer)
  }

  /// The process ends before the record is complete.
  mutating func refuseDiagnostics() {
    for case .diagnostics(let reply) in state.waitingForSweep { refuse(reply, .shutdown) }
    state.waitingForSweep = []
  }
}
