import Glibc
import JSONText

@testable import QueueModel
@testable import QueueStore

/// A database whose rows hold anything: everything can still be asked, and what cannot be read is told by
/// `verify`.
final class RowTarget: FuzzTarget {
  private let directory: String
  private let damage: RowDamage
  private let reader: Reader
  private let lost: LostRows

  init() throws {
    let parent = getenv("TMPDIR").map { String(cString: $0) } ?? "/tmp"
    var template = Array("\(parent)/outtray-rows-XXXXXX".utf8CString)
    guard mkdtemp(&template) != nil else { throw Broken("no directory: error \(errno)") }
    directory = String(decoding: template.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self)
    do {
      let store = try QueueStore(directory: directory, now: RowSample.now)
      try RowSample.fill(store)
    }
    damage = try RowDamage("\(directory)/queue.db")
    reader = try Reader(reading: directory)
    lost = LostRows(reader)
    for name in ["body-x", "body-y"] {
      let file = open("\(reader.folder.path)/\(name)", O_CREAT | O_WRONLY, 0o600)
      guard file >= 0, ftruncate(file, name == "body-x" ? 4 : 12) == 0 else { throw Broken("no body") }
      close(file)
    }
    let verification = try reader.verify()
    guard verification.holds else { throw Broken("the sample is not sound: \(verification.checks)") }
    let missing = try lost.find()
    try require(missing.isEmpty, "the sample loses \(missing)")
  }

  deinit { removeTree(directory) }

  /// Whether to verify in any case; changes of rows.
  func run(_ input: [UInt8]) throws {
    var choices = Choices(input)
    let verifies = choices.below(16) == 0
    try damage.apply(&choices)
    defer {
      reader.tables.settings.forget()
      reader.tables.outcomes.forget()
      reader.tables.groups.forget()
      reader.tables.buckets.forget()
    }
    do {
      try look(verifies: verifies)
    } catch {
      try damage.takeBack()
      throw error
    }
    try damage.takeBack()
  }

  /// - Parameter verifies: Whether or not something is missing: it takes longer than all the questions.
  private func look(verifies: Bool) throws {
    var missing: [String] = []
    do throws(StoreError) {
      missing = try lost.find()
      try Questions(reader).askAll()
    } catch {
      missing.append("a question fails: \(error.message)")
    }
    guard verifies || !missing.isEmpty else { return }
    do throws(StoreError) {
      if try !reader.verify().holds { return }
    } catch {
      return try require(error.isCorruption, "verify fails without a word of damage: \(error.message)")
    }
    try require(missing.isEmpty, "verify tells of nothing, and there is: \(missing)")
  }
}

/// A folder and what is in it.
private func removeTree(_ path: String) {
  guard let folder = opendir(path) else { return }
  while let entry = readdir(folder) {
    let name = withUnsafePointer(to: &entry.pointee.d_name.0) { String(cString: $0) }
    if name == "." || name == ".." { continue }
    if unlink("\(path)/\(name)") != 0 { removeTree("\(path)/\(name)") }
  }
  closedir(folder)
  rmdir(path)
}
