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
    let missing = try ask(.everything).get()
    try require(missing.isEmpty, "the sample loses \(missing)")
  }

  deinit { removeTree(directory) }

  /// Changes of rows, and questions about what is left: in one of 64 inputs everything is asked and
  /// verified, in the others one subject. Which, follows from the whole input: a byte for it would be handed
  /// on with every change, and inputs that ask everything reach the most and would soon be all there are.
  func run(_ input: [UInt8]) throws {
    // FNV-1a, whose low bits are the weaker ones.
    let hash = input.reduce(0xCBF2_9CE4_8422_2325 as UInt64) { ($0 ^ UInt64($1)) &* 0x100_0000_01B3 } >> 16
    if hash % 64 == 0 { return try run(input, asking: .everything, verifies: true) }
    let subjects = Questions.Subject.allCases
    let scope = Questions.Scope(
      subjects: [subjects[Int(hash >> 8) % subjects.count]], entry: Int(hash >> 16 & 0xFF))
    try run(input, asking: scope, verifies: false)
  }

  /// Where an input changes nothing, nothing is asked: the sample was looked at before.
  /// - Parameter verifies: Whether in any case, or only where something is missing.
  func run(_ input: [UInt8], asking scope: Questions.Scope, verifies: Bool) throws {
    var choices = Choices(input)
    let isChanged = try damage.apply(&choices)
    defer { forget() }
    do {
      if isChanged { try look(scope, verifies: verifies) }
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
    _ = try damage.apply(&choices)
    defer { forget() }
    var answers: [String] = []
    do throws(StoreError) {
      // Not the folder that the row in `meta` names now: it is read at a start alone.
      let reader = anew ? Reader(try Tables(Connection(path: path, .readOnly)), reader.folder) : reader
      var questions = Questions(reader, notes: true)
      do throws(StoreError) { _ = try questions.ask(.everything) } catch { answers.append("\(error)") }
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

  /// What is missing when all this was asked, in one snapshot: the locks of a question by itself cost more
  /// than the question.
  private func ask(_ scope: Questions.Scope) -> Result<Set<LostRows.Kind>, StoreError> {
    do throws(StoreError) {
      return .success(
        try reader.snapshot { () throws(StoreError) in
          var questions = Questions(reader)
          return try lost.find(in: scope, besides: questions.ask(scope))
        })
    } catch {
      return .failure(error)
    }
  }

  private func look(_ scope: Questions.Scope, verifies: Bool) throws {
    let answer = ask(scope)
    if !verifies, case .success(let missing) = answer, missing.isEmpty { return }
    do throws(StoreError) {
      if !verifies, case .success(let missing) = answer, try isTold(missing) { return }
      if try !reader.verify().holds { return }
    } catch {
      return try require(error.isCorruption, "verify fails without a word of damage: \(error.message)")
    }
    switch answer {
    case .success(let missing):
      try require(missing.isEmpty, "verify tells of nothing, and there is: \(missing)")
    case .failure(let error): throw Broken("verify tells of nothing, and a question fails: \(error.message)")
    }
  }

  /// By what `verify` asks of just that: all of it takes ten times as long.
  private func isTold(_ missing: Set<LostRows.Kind>) throws(StoreError) -> Bool {
    for kind in missing {
      let check: Verification.Check
      switch kind {
      case .entries, .bodies:
        var files: [(name: String, entry: String, length: Int64)] = []
        check = try reader.entryRows(&files)
      case .outcomes: check = try reader.outcomeRows()
      case .parts: check = try reader.partRows()
      case .bindings: check = try reader.dependencies()
      case .diagnostics: check = try reader.diagnosticRows()
      case .settings, .patches, .outages: check = try reader.settingRows()
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
