import QueueModel

/// The end of a move: the caller's name of the file goes once its entry is committed (D28).
extension QueueStore {
  /// Removes the names of files that were moved, also of those that an earlier process left.
  package func removeMoved() {
    guard !isDoubtful, damage == nil else { return }
    _ = carryOut(.removeMoved) { () throws(StoreError) in
      while tables.moved.hasUntried { try removeSources() }
      return .done
    }
  }

  /// Forgets what was removed.
  func finishMoves() throws(StoreError) -> Progress {
    guard !isDoubtful else { return .nothingToDo }
    try removeSources()
    let finished = tables.moved.finished
    guard !finished.isEmpty else { return .nothingToDo }
    try tables.moved.syncFolders()
    try write(durable: false) { try $0.tables.moved.delete(finished) }
    tables.moved.forgetFinished()
    tables.bodies.namesWereRemoved()
    return tables.moved.hasUntried ? .someLeft : .done
  }

  private func removeSources() throws(StoreError) {
    for (path, number) in try tables.moved.removeSources(folder, limit: QueueStore.sweepLimit) {
      let name = String(decoding: path.bytes, as: UTF8.self)
      note(
        .warn, "a file that was moved is still at \(name); its removal is tried again at the next start",
        SystemError.text(number))
    }
  }
}
