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
  private let folder: BodyFolder
  private let time: QueueTime
  private let identity: String
  private(set) var tables: Tables
  private var writer: Writer
  private var begin: Statement
  private var commit: Statement
  /// The last turn that was committed.
  package private(set) var turn: Int64
  /// The database has to be opened again before it can be believed (D36).
  private var isDoubtful = false
  /// The first failure of `rest` since one succeeded.
  private var hasRestFailed = false

  /// Makes what is missing. A damaged database is set aside, with a diagnostic; its bodies stay where they
  /// are (D37).
  ///
  /// - Parameters:
  ///   - now: the wall clock and CLOCK_BOOTTIME, ms.
  ///   - bootID: names the start of the system; nil reads it.
  ///   - reading: gives both clocks from now on; nil reads the machine's.
  package init(
    directory path: String, now: Moment, bootID: String? = nil, reading: (@Sendable () -> Moment)? = nil
  ) throws(StoreError) {
    let directory = try QueueDirectory(preparing: path)
    let bootID = bootID ?? QueueTime.systemBootID()
    var damage: (name: String, error: StoreError)?
    var database: Database
    do throws(StoreError) {
      database = try QueueStore.open(directory, now, bootID)
      try QueueStore.readWhatAStartNeeds(database.tables)
    } catch {
      guard error.isCorruption else { throw error }
      damage = (try directory.setDatabaseAside(at: now.wall), error)
      database = try QueueStore.open(directory, now, bootID)
    }
    self.directory = directory
    identity = database.meta.identity
    turn = database.meta.turn
    lastWall = database.meta.last.wall
    time = QueueTime(now: now, bootID: bootID, last: database.meta, reading: reading)
    folder = try BodyFolder(in: directory, identity: identity)
    stager = BodyStager(folder: folder)
    tables = database.tables
    reader = Reader(tables, folder)
    writer = Writer(tables, folder)
    begin = Statement(tables.connection, "BEGIN IMMEDIATE")
    commit = Statement(tables.connection, "COMMIT")
    try writer.continueNumbers(after: 0)
    if let damage { try report(damage.name, damage.error, at: now.wall) }
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

  private func report(_ name: String, _ error: StoreError, at wall: Int64) throws(StoreError) {
    let diagnostic = Diagnostic(
      at: wall, level: .error,
      message:
        "the database was damaged and is now \(name); the queue begins empty, its bodies are left alone",
      error: error.message)
    try write(durable: true) { try $0.addDiagnostic(diagnostic, isBoot: false) }
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
    try trust()
    try begin.run()
    let changesBefore = tables.connection.changes
    writer.turn = turn + 1
    var needsSync = false
    var hasChanged = false
    let value: Value
    do {
      value = try work(writer)
      try tables.buckets.flush()
      hasChanged = tables.connection.changes != changesBefore
      if hasChanged {
        try tables.meta.save(content(turn: turn + 1))
        needsSync = durability() == .synced || tables.bodies.doomsInTransaction
      }
      try commit.run()
    } catch {
      rollBack()
      throw error as? StoreError ?? .aborted("\(type(of: error))")
    }
    if hasChanged { turn += 1 }
    tables.bodies.transactionEnded(committed: true)
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
    tables.buckets.forget()
    tables.outcomes.forget()
    tables.bodies.transactionEnded(committed: false)
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
    // What the log holds may be in memory only, and its sync would report nothing a second time. Copied into
    // the database, it is written and synced anew.
    let connection = database.tables.connection
    connection.syncLog = tables.connection.syncLog
    guard try connection.checkpoint(truncating: true, patient: true) else {
      throw .failed(code: 5, message: "a reader keeps the log from being copied")
    }
    let writer = Writer(database.tables, folder)
    try writer.continueNumbers(after: self.writer.lastNumber)
    tables = database.tables
    reader = Reader(tables, folder)
    self.writer = writer
    begin = Statement(connection, "BEGIN IMMEDIATE")
    commit = Statement(connection, "COMMIT")
    turn = min(database.meta.turn, doubted)
    isDoubtful = false
  }

  // MARK: Between turns

  /// Work that no answer waits for: unlinks the files of bodies that were let go, copies the log into the
  /// database, gives free pages back. Bounded; call it after each turn.
  ///
  /// - Parameter idle: nothing else is waiting to be done.
  /// - Returns: false when more of it can be done at once.
  @discardableResult
  package func rest(idle: Bool) -> Bool {
    do throws(StoreError) {
      let isLeft = try sweep(limit: QueueStore.sweepLimit)
      try checkpointIfNeeded(idle: idle)
      hasRestFailed = false
      return !isLeft
    } catch {
      reportRestFailure(error)
      return true
    }
  }

  /// Files unlinked in one go.
  private static let sweepLimit = 64
  /// A log beyond this is copied at once, so that it stays below `longestLog` (D39).
  static let logLimit = 12 << 20
  /// A log that a reader has let grow beyond this is cut.
  static let longestLog = 16 << 20
  /// A log beyond this is copied when there is nothing else to do.
  static let idleLogLimit = 1 << 20
  /// Free pages that are worth giving back, and how many are given back in one go.
  private static let freePages: Int64 = 1024

  /// Unlinks at most `limit` body files that a committed transaction let go of. True when more may be left.
  @discardableResult
  package func sweep(limit: Int) throws(StoreError) -> Bool {
    guard tables.bodies.mayHaveDoomed, !isDoubtful else { return false }
    let names = try tables.bodies.doomedNames(limit: limit)
    guard !names.isEmpty else { return false }
    for name in names { folder.discard(name) }
    try write(durable: false) { writer in
      for name in names { try writer.tables.bodies.forget(doomed: name) }
    }
    return names.count == limit
  }

  package func checkpointIfNeeded(idle: Bool) throws(StoreError) {
    guard !isDoubtful else { return }
    let connection = tables.connection
    let bytes = connection.logBytes
    guard bytes > QueueStore.logLimit || idle && bytes > QueueStore.idleLogLimit else { return }
    let isWhole = try connection.checkpoint(truncating: false, patient: false)
    // The file keeps its length and is written from its beginning again; it is cut only when it has become
    // too long.
    if isWhole && bytes > QueueStore.longestLog {
      try connection.checkpoint(truncating: true, patient: false)
    }
    if idle, try connection.integer("PRAGMA freelist_count") ?? 0 > QueueStore.freePages {
      try connection.execute("PRAGMA incremental_vacuum(\(QueueStore.freePages))")
    }
  }

  /// Says once that housekeeping fails. If that cannot be stored either, the next write says so to its
  /// caller.
  private func reportRestFailure(_ error: StoreError) {
    guard !hasRestFailed else { return }
    hasRestFailed = true
    let diagnostic = Diagnostic(
      at: time.moment.wall, level: .warn, message: "the database could not be tidied", error: error.message)
    try? write(durable: false) { try $0.addDiagnostic(diagnostic, isBoot: false) }
  }

  // MARK: Bodies

  /// Unlinks a staged body that no entry took.
  package func discard(_ body: StagedBody) {
    if case .file(let name) = body.place { folder.discard(name) }
  }
}
