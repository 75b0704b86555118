import CSQLite

/// Why the store could not be opened, read or written.
package enum StoreError: Error, Sendable {
  /// The directory or what is in it cannot be used; exit status 73. `errno` is 0 when no call of the system
  /// failed.
  case unusable(reason: String, errno: Int32)
  /// Another process holds the directory; exit status 75.
  case locked
  /// A newer version wrote the database; it was not touched (D39). Exit status 73.
  case newerSchema(found: Int64, known: Int64)
  /// SQLite's extended result code, and its message, which holds no value of a row. Nothing was changed.
  case failed(code: Int32, message: String)
  /// A sync failed and the database could not be opened again yet, so nobody knows whether this turn stands:
  /// `QueueStore.stands` tells, once it can (D36).
  case unsettled(turn: Int64, message: String)
  /// The work inside the transaction threw something else; nothing was changed.
  case aborted(String)

  /// For people: the last line of stderr, or the text of E_STORAGE.
  package var message: String {
    switch self {
    case .unusable(let reason, let number): number == 0 ? reason : "\(reason): \(SystemError.text(number))"
    case .locked: "the directory is in use by another process"
    case .newerSchema(let found, let known):
      "the database has schema \(found), written by a newer version; this one knows \(known)"
    case .failed(let code, let message): "the database failed: \(message) (\(code))"
    case .unsettled(_, let message): "the database could not be synced: \(message)"
    case .aborted(let reason): "the change was given up: \(reason)"
    }
  }

  package var isLocked: Bool {
    switch self {
    case .locked: true
    case .unusable, .newerSchema, .failed, .unsettled, .aborted: false
    }
  }

  /// Some other program holds the database itself; tried again it may go well.
  package var isBusy: Bool {
    switch self {
    case .failed(let code, _): code & 0xFF == SQLITE_BUSY || code & 0xFF == SQLITE_LOCKED
    case .unusable, .locked, .newerSchema, .unsettled, .aborted: false
    }
  }

  /// SQLite could not sync a file.
  var isFailedSync: Bool {
    switch self {
    case .failed(let code, _): code == SQLITE_IOERR | 4 << 8
    case .unusable, .locked, .newerSchema, .unsettled, .aborted: false
    }
  }

  /// The file is damaged or no database: nothing may start any more (D37).
  package var isCorruption: Bool {
    switch self {
    case .failed(let code, _): code & 0xFF == SQLITE_CORRUPT || code & 0xFF == SQLITE_NOTADB
    case .unusable, .locked, .newerSchema, .unsettled, .aborted: false
    }
  }

  var isUniqueness: Bool {
    switch self {
    case .failed(let code, _): code == SQLITE_CONSTRAINT | 8 << 8
    case .unusable, .locked, .newerSchema, .unsettled, .aborted: false
    }
  }
}
