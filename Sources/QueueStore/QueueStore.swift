import CSQLite
package import QueueModel

/// The durable truth: one SQLite database and the bodies beside it, in one directory (D35). Confined to one
/// thread, but for `stager`. Whoever opens it holds the `DirectoryLock`.
package final class QueueStore {
  /// Stages bodies on other threads.
  package let stager: BodyStager
  /// What queue time is ahead of CLOCK_BOOTTIME, ms.
  package var steadyOffset: Int64 { time.offset }
  /// The wall clock at the last commit before this start, ms.
  package let lastWall: Int64

  /// Questions outside a write. A new one after a sync has failed: do not keep it.
  package private(set) var reader: Reader

  private let directory: QueueDirectory
  let folder: BodyFolder
  private let orphans: OrphanSweep
  private let time: QueueTime
  private let identity: String
  private(set) var tables: Tables
  private var writer: Writer
  private var begin: Statement
  private var beginReading: Statement
  private var commit: Statement
  /// The last turn that was committed.
  package private(set) var turn: Int64
  /// The database has to be opened again before it can be believed (D36).
  private(set) var isDoubtful = false
  /// The last transaction came as far as its work: what failed in it may be the fault of that.
  package private(set) var hasBegun = false
  /// The damage that was met while running; nothing is written any more (D37).
  package private(set) var damage: StoreError?
  private let unwritten = UnwrittenDiagnostics()
  private let log: any Log
  /// A log beyond this is copied when there is nothing else to do, bytes.
  package var idleLogLimit = 1 << 20
  /// Housekeeping that has failed and not succeeded since.
  var troubles: Set<Chore> = []

  /// Makes what is missing. A damaged database is set aside, with a diagnostic; its bodies stay where they
  /// are. Scans the database only when an earlier process noted that it had met damage (D37).
  ///
  /// - Parameters:
  ///   - now: the wall clock and CLOCK_BOOTTIME, ms.
  ///   - bootID: names the start of the system; nil reads it.
  ///   - reading: gives both clocks from now on; nil reads the machine's.
  ///   - mayStartAnew: false throws where a database would be made or set aside: that is for a start.
  package init(
    directory path: String, now: Moment, bootID: String? = nil, reading: (@Sendable () -> Moment)? = nil,
    log: any Log = SilentLog(), mayStartAnew: Bool = true
  ) throws(StoreError) {
    let directory = try QueueDirectory(preparing: path)
    if !mayStartAnew { try directory.requireSoundQueue() }
    let bootID = bootID ?? QueueTime.systemBootID()
    var found: [Diagnostic] = []
    if let name = try directory.setLonelyLogAside(at: now.wall) {
      found.append(.lonelyLog(name, at: now.wall))
    }
    let noted = directory.notedDamage()
    var database: Database
    do throws(StoreError) {
      database = try QueueStore.open(directory, now, bootID)
      try QueueStore.readWhatAStartNeeds(database.tables)
      if let noted {
        try database.tables.connection.checkEverything()
        found.append(.passedDamage(noted, at: now.wall))
      }
    } catch {
      guard error.isCorruption, mayStartAnew else { throw error }
      found.append(.setAside(try directory.setDatabaseAside(at: now.wall), error, at: now.wall))
      database = try QueueStore.open(directory, now, bootID)
    }
    self.directory = directory
    self.log = log
    identity = database.meta.identity
    turn = database.meta.turn
    lastWall = database.meta.last.wall
    time = QueueTime(now: now, bootID: bootID, last: database.meta, reading: reading)
    folder = try BodyFolder(in: directory, identity: identity)
    stager = BodyStager(folder: folder)
    orphans = OrphanSweep(of: folder, startedAt: now.wall)
    tables = database.tables
    reader = Reader(tables, folder)
    writer = Writer(tables, folder, unwritten)
    begin = Statement(tables.connection, "BEGIN IMMEDIATE")
    beginReading = Statement(tables.connection, "BEGIN")
    commit = Statement(tables.connection, "COMMIT")
    try writer.continueNumbers(after: 0)
    try write(durable: true) { writer in
      for diagnostic in found { try writer.addDiagnostic(diagnostic, isBoot: false) }
    }
    if noted != nil { directory.forgetDamage() }
  }

  private static func open(
    _ directory: QueueDirectory, _ now: Moment, _ bootID: String
  ) throws(StoreError) -> Database {
    try Database(in: directory, identity: BodyFolder.newIdentity, now: now, bootID: bootID)
  }

  /// Damage that a start would meet is met here, where the database can still be set aside. Reads nothing
  /// that grows with the queue.
  private static func readWhatAStartNeeds(_ tables: Tables) throws(StoreError) {
    _ = try tables.entries.highestNumber()
    _ = try tables.outcomes.highestEntryNumber()
    _ = try tables.entries.runningEntries()
    _ = try tables.bucketQueries.all()
    _ = try tables.settings.gates()
    _ = try tables.settings.configuration()
    _ = try tables.connection.integer("SELECT COUNT(*) FROM diagnostic")
  }

  /// Several questions that see one state of the database, and take its locks once. Not inside a write.
  package func read<Value>(_ work: (Reader) throws(StoreError) -> Value) throws(StoreError) -> Value {
    try beginReading.run()
    do throws(StoreError) {
      let value = try work(reader)
      try commit.run()
      return value
    } catch {
      endTransaction()
      throw error
    }
  }

  // MARK: Writing

  /// One transaction. What it throws is rolled back.
  ///
  /// - Parameter durable: the commit is synced before this returns; otherwise it is in the log (D35).
  package func write<Value>(
    durable: Bool, _ work: (Writer) throws -> Value
  ) throws(StoreError) -> Value {
    try write(durability: { durable ? .synced : .logged }, work)
  }

  /// One transaction. `durability` is asked after the work, before the commit. A transaction that changed
  /// nothing is not counted as a turn and not synced.
  ///
  /// When a sync fails, the database is opened again: if the change stands then, this returns; if not, it
  /// throws, and nothing was changed. When it cannot be opened, `unsettled` is thrown: the answer has to wait
  /// for `stands` (D36).
  package func write<Value>(
    durability: () -> Durability, _ work: (Writer) throws -> Value
  ) throws(StoreError) -> Value {
    if let damage { throw damage }
    hasBegun = false
    try trust()
    try begin.run()
    hasBegun = true
    let changesBefore = tables.connection.changes
    writer.turn = turn + 1
    var needsSync = false
    var hasChanged = false
    let value: Value
    do {
      value = try work(writer)
      try tables.groups.flush()
      try tables.buckets.flush()
      hasChanged = tables.connection.changes != changesBefore
      if hasChanged {
        try unwritten.store(in: tables.diagnostics)
        try tables.meta.save(content(turn: turn + 1))
        needsSync = durability() == .synced || tables.bodies.doomsInTransaction
      }
      try commit.run()
    } catch {
      rollBack()
      throw error as? StoreError ?? .aborted("\(type(of: error))")
    }
    if hasChanged { turn += 1 }
    for name in tables.bodies.claimedInTransaction { folder.claim(name) }
    tables.bodies.transactionEnded(committed: true)
    tables.groups.transactionEnded()
    unwritten.transactionEnded(committed: true)
    for diagnostic in writer.takeUnlogged() { log.write(LogLine(diagnostic)) }
    if needsSync { try settle() }
    return value
  }

  /// Keeps what time it is, so that a later process does not begin before it; each transaction does so too.
  package func noteTime() throws(StoreError) {
    try write(durable: false) { _ in try tables.meta.save(content(turn: turn + 1)) }
  }

  private func content(turn: Int64) -> MetaTable.Content {
    MetaTable.Content(
      identity: identity, turn: turn, bootID: time.bootID, steadyOffset: time.offset, last: time.moment)
  }

  private func rollBack() {
    tables.groups.forget()
    tables.buckets.forget()
    tables.settings.forget()
    tables.outcomes.forget()
    writer.abandoned = Abandoned()
    tables.bodies.transactionEnded(committed: false)
    unwritten.transactionEnded(committed: false)
    _ = writer.takeUnlogged()
    endTransaction()
  }

  private func endTransaction() {
    guard tables.connection.isInTransaction else { return }
    // Where SQLite cannot even take its own changes back, the next transaction begins on a new connection.
    do { try tables.connection.execute("ROLLBACK") } catch { isDoubtful = true }
  }

  /// Syncs the last commit. When that fails, only a database that was opened again can tell what became of
  /// it.
  private func settle() throws(StoreError) {
    let failure: StoreError
    do throws(StoreError) {
      return try tables.connection.sync()
    } catch {
      failure = error
    }
    isDoubtful = true
    let uncertain = turn
    do throws(StoreError) {
      try trust()
    } catch {
      throw .unsettled(turn: uncertain, message: failure.message)
    }
    if turn < uncertain { throw failure }
  }

  /// Whether the change of that turn stands, after `unsettled`. Opens the database again if it is in doubt;
  /// throws while that fails.
  package func stands(_ turn: Int64) throws(StoreError) -> Bool {
    try trust()
    return turn <= self.turn
  }

  /// Opens the database again when it is in doubt.
  private func trust() throws(StoreError) {
    guard isDoubtful else { return }
    let doubted = max(writer.turn, turn)
    let moment = time.moment
    let database = try Database(
      in: directory, identity: { identity }, now: moment, bootID: time.bootID)
    // The log was written again when it was opened; in the database its content needs no log any more.
    let connection = database.tables.connection
    connection.syncLog = tables.connection.syncLog
    guard try connection.checkpoint(truncating: true, patient: true) else {
      throw .failed(code: SQLITE_BUSY, message: "a reader keeps the log from being copied")
    }
    let writer = Writer(database.tables, folder, unwritten)
    try writer.continueNumbers(after: self.writer.lastNumber)
    tables = database.tables
    reader = Reader(tables, folder)
    self.writer = writer
    begin = Statement(connection, "BEGIN IMMEDIATE")
    beginReading = Statement(connection, "BEGIN")
    commit = Statement(connection, "COMMIT")
    turn = min(database.meta.turn, doubted)
    isDoubtful = false
  }

  // MARK: Trouble

  /// Copying the log syncs it first. What that failed over no later sync makes durable, and what is promised
  /// after it would be lost with it: also a turn that had only to be in the log must not be missing (D36).
  func doubtLog(after error: StoreError) {
    if error.isFailedSync { isDoubtful = true }
  }

  /// Keeps a diagnostic in memory until a transaction that changes something can store it; the newest 50.
  package func note(_ level: Diagnostic.Level, _ message: String, _ error: String) {
    let diagnostic = Diagnostic(at: time.moment.wall, level: level, message: message, error: error)
    unwritten.add(diagnostic)
    log.write(LogLine(diagnostic))
  }

  /// Some are not stored yet.
  package var hasUnwrittenDiagnostics: Bool { !unwritten.isEmpty }

  /// Stores what `note` kept, which also shows whether anything can be stored.
  package func writeDiagnostics() throws(StoreError) {
    try write(durable: false) { try unwritten.store(in: $0.tables.diagnostics) }
  }

  /// What `note` kept, oldest first, and forgets it: for a store that is not written any more.
  package func takeUnwrittenDiagnostics() -> [Diagnostic] { unwritten.takeAll() }

  /// Takes note of an error that shows damage: from the first one on nothing is written, and the next start
  /// looks at the whole database (D37). Of every other error it takes none.
  package func meet(_ error: StoreError) {
    guard error.isCorruption, damage == nil else { return }
    damage = error
    note(.error, "the database is damaged; nothing is sent or accepted until the next start", error.message)
    directory.noteDamage(error.message)
  }

  // MARK: Bodies

  /// Unlinks a staged body that no entry took.
  package func discard(_ body: StagedBody) {
    if case .file(let name) = body.place { folder.discard(name) }
  }

  /// Unlinks the bodies that no entry will take, since the process ends: copies in progress, and what waits
  /// for a commit that does not come. Nothing is staged after it.
  package func discardUnclaimedBodies() {
    folder.discardUnclaimed()
  }

  /// Looks at `limit` more of what lies beside the database. Until the end is reached; not again after it.
  package func sweepOrphans(limit: Int) -> OrphanProgress {
    guard !isDoubtful else { return .later }
    do throws(StoreError) {
      return try orphans.step(limit: limit, isNamed: tables.bodies.isNamed).map { .done($0) } ?? .goesOn
    } catch {
      let warning = OrphanReport.Warning(
        message: "orphaned bodies could not be counted", error: error.message)
      return .done(OrphanReport(count: OrphanCount(), warnings: [warning]))
    }
  }
}
