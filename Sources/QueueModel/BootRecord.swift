import JSONText

/// How a start found the queue: the diagnostic `boot sweep`.
package struct BootRecord: Sendable {
  /// Wall clock, ms.
  package var at: Int64
  /// Entries by state, as the start found them: what a dead process left running counts as running.
  package var entries: [(state: String, count: Int64)]
  /// Live entries by key.
  package var keys: [EntryKey: Int64]
  /// nil until they are counted.
  package var orphans: OrphanCount?

  package init(
    at wall: Int64, entries: [(state: String, count: Int64)], keys: [EntryKey: Int64],
    orphans: OrphanCount? = nil
  ) {
    at = wall
    self.entries = entries
    self.keys = keys
    self.orphans = orphans
  }

  /// Keys that are told one by one: those with the most entries.
  static let keyLimit = 100

  package var diagnostic: Diagnostic {
    let figures = JSON { writer in
      writer.object { record in
        record.member("entries") { counts in
          counts.object { for (state, count) in entries { $0.member(state, count) } }
        }
        record.member("keys") { writeKeys(into: &$0) }
        if keys.count > BootRecord.keyLimit { record.member("otherKeys", keys.count - BootRecord.keyLimit) }
        if let orphans { record.member("orphans") { orphans.write(into: &$0) } }
      }
    }
    return Diagnostic(at: at, level: .info, message: "boot sweep", figures: figures)
  }

  private func writeKeys(into writer: inout JSONWriter) {
    let largest = keys.sorted { ($1.value, $0.key) < ($0.value, $1.key) }.prefix(BootRecord.keyLimit)
    writer.object { for (key, count) in largest { $0.member(key.text, count) } }
  }
}

/// Body files that no entry of the open database names (D37).
package struct OrphanCount: Sendable, Equatable {
  /// Folders of other databases: set aside, or replaced by an empty one. Never deleted.
  package var dirs: Int64 = 0
  /// Files in them, and orphans of the open database that stay.
  package var files: Int64 = 0
  package var bytes: Int64 = 0
  /// Orphans that this start has deleted.
  package var removedFiles: Int64 = 0
  package var removedBytes: Int64 = 0

  package init() {}

  func write(into writer: inout JSONWriter) {
    writer.object {
      $0.member("dirs", dirs)
      $0.member("files", files)
      $0.member("bytes", bytes)
      $0.member("removedFiles", removedFiles)
      $0.member("removedBytes", removedBytes)
    }
  }
}
