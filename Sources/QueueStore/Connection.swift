import CSQLite
import Glibc

/// One SQLite connection, used by one thread at a time.
final class Connection {
  let handle: OpaquePointer
  /// Frames in the write-ahead log after the last commit of this connection.
  private let logFrames = UnsafeMutablePointer<Int32>.allocate(capacity: 1)
  /// Syncs the write-ahead log; a test puts a failing one in its place.
  var syncLog: (OpaquePointer) -> Int32 = outtray_sync_log
  /// Copies the log in one of SQLite's modes, and says how many frames it has and how many were copied; a
  /// test puts a failing one in its place.
  var copyLog: (OpaquePointer, Int32) -> (code: Int32, inLog: Int32, copied: Int32) = Connection.copyLog

  enum Access {
    case readOnly, readWrite
  }

  /// Opens the file, which must exist; reads and writes nothing yet.
  init(path: [UInt8], _ access: Access) throws(StoreError) {
    _ = Connection.countsNoMemory
    var opened: OpaquePointer?
    let mode = access == .readOnly ? SQLITE_OPEN_READONLY : SQLITE_OPEN_READWRITE
    let flags = mode | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_EXRESCODE
    let code = (path + [0]).withUnsafeBufferPointer { bytes in
      bytes.withMemoryRebound(to: CChar.self) { sqlite3_open_v2($0.baseAddress, &opened, flags, nil) }
    }
    guard let opened else { throw .failed(code: code, message: "out of memory") }
    handle = opened
    logFrames.initialize(to: 0)
    guard code == SQLITE_OK else { throw failure(code) }
    // Another process may hold the write lock for a moment, such as a shell that somebody looks in with.
    try check(sqlite3_busy_timeout(handle, Connection.patienceMs))
    // Closing must not write: what was refused or failed stays as it was.
    try check(outtray_no_checkpoint_on_close(handle))
    let count:
      @convention(c) (UnsafeMutableRawPointer?, OpaquePointer?, UnsafePointer<CChar>?, Int32) -> Int32 = {
        counter, _, _, frames in
        counter?.assumingMemoryBound(to: Int32.self).pointee = frames
        return SQLITE_OK
      }
    sqlite3_wal_hook(handle, count, logFrames)
  }

  deinit {
    sqlite3_close_v2(handle)
    logFrames.deallocate()
  }

  private static let patienceMs: Int32 = 5000

  /// Once for the process. Where SQLite is in use already it goes on counting, which costs a little.
  private static let countsNoMemory = outtray_count_no_memory() == SQLITE_OK

  /// Runs statements that return nothing of use.
  func execute(_ sql: String) throws(StoreError) {
    try check(sqlite3_exec(handle, sql, nil, nil, nil))
  }

  /// The first column of the first row.
  func integer(_ sql: String) throws(StoreError) -> Int64? {
    try Statement(self, sql).first({ _ in }) { $0.int() }
  }

  func text(_ sql: String) throws(StoreError) -> String? {
    try Statement(self, sql).first({ _ in }) { $0.text() }
  }

  /// Rows written since the connection was opened.
  var changes: Int64 { sqlite3_total_changes64(handle) }

  var isInTransaction: Bool { sqlite3_get_autocommit(handle) == 0 }

  /// Bytes of the write-ahead log that are in use.
  var logBytes: Int { Int(logFrames.pointee) * 4120 }

  /// Makes everything that was committed survive a power cut.
  func sync() throws(StoreError) {
    let code = syncLog(handle)
    guard code == SQLITE_OK else { throw .failed(code: code, message: "the log could not be synced") }
  }

  /// Makes all that the log holds survive a power cut, also what an earlier sync, perhaps of another process,
  /// has failed over: a further sync alone would succeed and promise nothing (D36).
  func rewriteLog() throws(StoreError) {
    // Nobody writes into it meanwhile.
    try execute("BEGIN IMMEDIATE")
    let code = outtray_rewrite_log(handle)
    try execute("ROLLBACK")
    guard code == SQLITE_OK else { throw .failed(code: code, message: "the log could not be written again") }
  }

  /// Copies the log into the database and syncs that. False when a reader kept some of it in the log.
  @discardableResult
  func checkpoint(truncating: Bool, patient: Bool) throws(StoreError) -> Bool {
    if !patient { try check(sqlite3_busy_timeout(handle, 0)) }
    defer { if !patient { sqlite3_busy_timeout(handle, Connection.patienceMs) } }
    let mode = truncating ? SQLITE_CHECKPOINT_TRUNCATE : SQLITE_CHECKPOINT_PASSIVE
    let (code, inLog, copied) = copyLog(handle, mode)
    if code & 0xFF == SQLITE_BUSY { return false }
    try check(code)
    // -1 in both: the connection has read nothing yet, and nothing was done.
    let isWhole = inLog >= 0 && inLog == copied
    if isWhole { logFrames.pointee = 0 }
    return isWhole
  }

  private static func copyLog(
    _ handle: OpaquePointer, _ mode: Int32
  ) -> (code: Int32, inLog: Int32, copied: Int32) {
    var (inLog, copied): (Int32, Int32) = (0, 0)
    let code = sqlite3_wal_checkpoint_v2(handle, "main", mode, &inLog, &copied)
    return (code, inLog, copied)
  }

  func check(_ code: Int32) throws(StoreError) {
    guard code == SQLITE_OK else { throw failure(code) }
  }

  /// Reads all of the file; throws an error of which `isCorruption` is true at the first defect.
  func checkEverything() throws(StoreError) {
    let found = try text("PRAGMA integrity_check(1)") ?? ""
    guard found == "ok" else { throw .failed(code: SQLITE_CORRUPT, message: found) }
  }

  /// What the connection says about its last call, and the system where a call of that one failed.
  func failure(_ code: Int32) -> StoreError {
    var message = String(cString: sqlite3_errmsg(handle))
    let number = sqlite3_system_errno(handle)
    if number != 0, [SQLITE_IOERR, SQLITE_CANTOPEN, SQLITE_FULL].contains(code & 0xFF) {
      message += ", \(SystemError.text(number))"
    }
    return .failed(code: code, message: message)
  }
}
