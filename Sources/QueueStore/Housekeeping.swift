import Glibc
import QueueModel

/// Work that no answer waits for.
extension QueueStore {
  /// What can fail by itself. A run of trouble with one of them lasts until that one has succeeded.
  enum Chore: Hashable {
    case removeMoved, unlinkBodies, copyLog
  }

  /// Forgets finished moves, unlinks the files of bodies that were let go, copies the log into the database,
  /// gives free pages back. Bounded; call it after each turn.
  ///
  /// - Parameter idle: nothing else is waiting to be done.
  /// - Returns: false when more of it can be done at once, or when it has met damage.
  @discardableResult
  package func rest(idle: Bool) -> Bool {
    guard damage == nil else { return true }
    // The names of moved files go first: their links, which tell what they are, may be swept.
    var isLeft = carryOut(.removeMoved) { () throws(StoreError) in try finishMoves() }
    if isLeft != .someLeft {
      isLeft = carryOut(.unlinkBodies) { () throws(StoreError) in try sweep(limit: QueueStore.sweepLimit) }
    }
    _ = carryOut(.copyLog) { () throws(StoreError) in try checkpointIfNeeded(idle: idle) }
    return isLeft != .someLeft && damage == nil
  }

  package enum Progress {
    case nothingToDo, done, someLeft
  }

  /// A failure is told once for each run of trouble.
  func carryOut(_ chore: Chore, _ work: () throws(StoreError) -> Progress) -> Progress {
    do throws(StoreError) {
      let progress = try work()
      if progress != .nothingToDo { troubles.remove(chore) }
      return progress
    } catch {
      meet(error)
      if troubles.isEmpty && damage == nil {
        note(.warn, "the store could not be tidied", error.message)
      }
      troubles.insert(chore)
      return .nothingToDo
    }
  }

  /// Files unlinked in one go.
  static let sweepLimit = 64
  /// A log beyond this is copied at once, so that it stays below `longestLog` (D39).
  static let logLimit = 12 << 20
  /// A log that a reader has let grow beyond this is cut.
  static let longestLog = 16 << 20
  /// Free pages that are worth giving back, and how many are given back in one go.
  private static let freePages: Int64 = 1024

  /// Unlinks at most `limit` body files that a committed transaction let go of. Throws after that when some
  /// cannot be: they stay noted.
  @discardableResult
  package func sweep(limit: Int) throws(StoreError) -> Progress {
    guard tables.bodies.mayHaveDoomed, !isDoubtful else { return .nothingToDo }
    let names = try tables.bodies.doomedNames(limit: limit)
    guard !names.isEmpty else { return .nothingToDo }
    var gone: [String] = []
    var failure: Int32?
    for name in names {
      let number = folder.delete(name)
      if number == nil || number == ENOENT { gone.append(name) } else { failure = number }
    }
    // A copy whose name a power cut brings back goes a day later (D37). What was moved in would stay for
    // ever.
    if !gone.allSatisfy(BodyName.isCopy), let number = folder.syncNames() {
      throw .unusable(reason: "the removal of a body cannot be synced", errno: number)
    }
    try write(durable: false) { writer in
      for name in gone { try writer.tables.bodies.forget(doomed: name) }
    }
    tables.bodies.dealtWith(names)
    if let failure { throw .unusable(reason: "a body cannot be deleted", errno: failure) }
    return names.count == limit ? .someLeft : .done
  }

  @discardableResult
  package func checkpointIfNeeded(idle: Bool) throws(StoreError) -> Progress {
    guard !isDoubtful else { return .nothingToDo }
    do throws(StoreError) {
      return try copyLogIfLong(idle: idle)
    } catch {
      doubtLog(after: error)
      throw error
    }
  }

  private func copyLogIfLong(idle: Bool) throws(StoreError) -> Progress {
    let connection = tables.connection
    let bytes = connection.logBytes
    guard bytes > QueueStore.logLimit || idle && bytes > idleLogLimit else { return .nothingToDo }
    let isWhole = try connection.checkpoint(truncating: false, patient: false)
    // The file keeps its length and is written from its beginning again; it is cut only when it has become
    // too long.
    if isWhole && bytes > QueueStore.longestLog {
      try connection.checkpoint(truncating: true, patient: false)
    }
    if idle, try connection.integer("PRAGMA freelist_count") ?? 0 > QueueStore.freePages {
      try connection.execute("PRAGMA incremental_vacuum(\(QueueStore.freePages))")
    }
    return isWhole ? .done : .nothingToDo
  }

  /// Copies the log into the database and cuts it, at the end of the process: what was deleted is overwritten
  /// there, while the log would hold it until it is written over (D38). Best effort: where a reader, or the
  /// disk, keeps it from being done, the next end does it.
  package func cutLog() {
    guard damage == nil, !isDoubtful else { return }
    _ = try? tables.connection.checkpoint(truncating: true, patient: false)
  }
}
