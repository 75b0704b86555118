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
    let missing = ask()
    try require(missing.isEmpty, "the sample loses \(missing)")
  }

  deinit { removeTree(directory) }

  /// Whether to verify in any case; changes of rows. Where they change nothing, nothing is asked: the sample
  /// was looked at before.
  func run(_ input: [UInt8]) throws {
    var choices = Choices(input)
    let verifies = choices.below(16) == 0
    let isChanged = try damage.apply(&choices)
    defer { forget() }
    do {
      if isChanged { try look(verifies: verifies) }
    } catch {
      try damage.takeBack()
      throw error
    }
    try damage.takeBack()
  }

  /// Every answer after these changes, with what `verify` says, but for the clock's time: of the connection
  /// that is kept, or of one that is opened for it, as a process would.
  func answers(to input: [UInt8], anew: Bool) throws -> [String] {
    var choices = Choices(input)
    _ = choices.byte()
    _ = try damage.apply(&choices)
    defer { forget() }
    var answers: [String] = []
    do throws(StoreError) {
      // Not the folder that the row in `meta` names now: it is read at a start alone.
      let reader = anew ? Reader(try Tables(Connection(path: path, .readOnly)), reader.folder) : reader
      var questions = Questions(reader, notes: true)
      do throws(StoreError) { _ = try questions.askAll() } catch { answers.append("\(error)") }
      answers += questions.answers
      answers += try reader.verify().checks.flatMap { [$0.name] + $0.problems }
    } catch {
      answers.append("\(error)")
    }
    try damage.takeBack()
    return answers
  }

  private var path: [UInt8] { Array("\(directory)/queue.db".utf8) }

  /// What a process keeps of the rows while it runs.
  private func forget() {
    reader.tables.settings.forget()
    reader.tables.outcomes.forget()
    reader.tables.groups.forget()
    reader.tables.buckets.forget()
  }

  /// What is missing when everything was asked, in one snapshot: the locks of a question by itself cost more
  /// than the question.
  private func ask() -> Set<String> {
    do throws(StoreError) {
      return try reader.snapshot { () throws(StoreError) in
        var questions = Questions(reader)
        return try lost.find(besides: questions.askAll())
      }
    } catch {
      return ["a question fails: \(error.message)"]
    }
  }

  /// - Parameter verifies: Whether or not something is missing: it takes as long as all the questions.
  private func look(verifies: Bool) throws {
    let missing = ask()
    guard verifies || !missing.isEmpty else { return }
    do throws(StoreError) {
      if !verifies, try isTold(missing) { return }
      if try !reader.verify().holds { return }
    } catch {
      return try require(error.isCorruption, "verify fails without a word of damage: \(error.message)")
    }
    try require(missing.isEmpty, "verify tells of nothing, and there is: \(missing)")
  }

  /// By what `verify` asks of just that: all of it takes ten times as long.
  private func isTold(_ missing: Set<String>) throws(StoreError) -> Bool {
    for name in missing {
      let check: Verification.Check
      switch name {
      case "entries", "bodies":
        var files: [(name: String, entry: String, length: Int64)] = []
        check = try reader.entryRows(&files)
      case "outcomes": check = try reader.outcomeRows()
      case "parts": check = try reader.partRows()
      case "bindings": check = try reader.dependencies()
      case "diagnostics": check = try reader.diagnosticRows()
      case "settings", "patches", "outages": check = try reader.settingRows()
      default: continue
      }
      if !check.problems.isEmpty { return true }
    }
    return false
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
