import Glibc
package import QueueModel

/// Finds the body files that no row names, deletes those that are certainly leftovers of a crash, and counts
/// the rest, a few at a time (D37). Opens no file.
final class OrphanSweep {
  private let folder: BodyFolder
  /// Wall clock at the start of the process, ms.
  private let startedAt: Int64
  /// What is being read, the innermost last; nil before the first step.
  private var places: [Place]?
  private var count = OrphanCount()
  private var warnings: [OrphanReport.Warning] = []
  private var undeleted: (files: Int64, reason: Int32)?

  private struct Place {
    enum Kind {
      /// The folder of the open database.
      case own
      /// The directory of the queue, where folders of other databases may lie.
      case siblings
      case other
    }

    var kind: Kind
    var listing: DirectoryListing
  }

  /// What changed later than this before the start stays, ms.
  static let minimumAge: Int64 = 24 * 60 * 60 * 1000

  init(of folder: BodyFolder, startedAt wall: Int64) {
    self.folder = folder
    startedAt = wall
  }

  /// Looks at `limit` names more. All that was found, once there are no more.
  ///
  /// - Parameter isNamed: Whether a row has the file, or the list of those to be unlinked. Asked right before
  ///   each decision.
  func step(
    limit: Int, isNamed: (String) throws(StoreError) -> Bool
  ) throws(StoreError) -> OrphanReport? {
    if places == nil {
      places = []
      open(folder.queueDirectory, .siblings)
      open(folder.path, .own)
    }
    for _ in 0..<limit {
      guard let place = places?.last else { return report() }
      switch place.listing.next() {
      case .success(nil): places?.removeLast()
      case .success(let name?): try look(at: name, in: place, isNamed)
      case .failure(let failure):
        places?.removeLast()
        warnOfUnreadable(failure)
      }
    }
    return nil
  }

  private func look(
    at name: [UInt8], in place: Place, _ isNamed: (String) throws(StoreError) -> Bool
  ) throws(StoreError) {
    // Gone meanwhile.
    guard let status = place.listing.status(of: name) else { return }
    let isRegular = status.st_mode & S_IFMT == S_IFREG
    let bytes = isRegular ? Int64(status.st_size) : 0
    let text = String(validating: name, as: UTF8.self)
    switch place.kind {
    case .siblings:
      guard status.st_mode & S_IFMT == S_IFDIR, let text, BodyFolder.isFolder(text) else { return }
      let path = "\(folder.queueDirectory)/\(text)"
      if path != folder.path, open(path, .other) { count.dirs += 1 }
    case .other: keep(bytes)
    case .own:
      if let text {
        if folder.isUnclaimed(text) { return }
        if try isNamed(text) { return }
      }
      guard let text, isRegular, BodyName.isCopy(text), isOld(status) else { return keep(bytes) }
      if let reason = folder.delete(text) {
        undeleted = ((undeleted?.files ?? 0) + 1, reason)
        keep(bytes)
      } else {
        count.removedFiles += 1
        count.removedBytes += bytes
      }
    }
  }

  private func keep(_ bytes: Int64) {
    count.files += 1
    count.bytes += bytes
  }

  /// A time that cannot be told, such as 0 or one to come, is no proof of age.
  private func isOld(_ status: stat) -> Bool {
    let changedAt = Int64(status.st_mtim.tv_sec)
    return changedAt > 0 && changedAt < (startedAt - OrphanSweep.minimumAge) / 1000
  }

  @discardableResult
  private func open(_ path: String, _ kind: Place.Kind) -> Bool {
    do throws(SystemFailure) {
      places?.append(Place(kind: kind, listing: try DirectoryListing(path)))
      return true
    } catch {
      warnOfUnreadable(error)
      return false
    }
  }

  private func warnOfUnreadable(_ failure: SystemFailure) {
    warnings.append(
      OrphanReport.Warning(
        message: "a directory of bodies could not be read and is not counted",
        error: SystemError.text(failure.number)))
  }

  private func report() -> OrphanReport {
    var report = OrphanReport(count: count, warnings: warnings)
    if let undeleted {
      report.warnings.append(
        OrphanReport.Warning(
          message: "\(undeleted.files) orphaned bodies could not be deleted",
          error: SystemError.text(undeleted.reason)))
    }
    return report
  }
}

/// What a sweep has found and done.
package struct OrphanReport: Sendable {
  package var count: OrphanCount
  package var warnings: [Warning]

  package struct Warning: Sendable {
    package var message: String
    package var error: String
  }
}

/// How far a sweep has come.
package enum OrphanProgress: Sendable {
  case goesOn
  /// Not while the database is in doubt.
  case later
  case done(OrphanReport)
}
