import Disk
import Glibc

/// One history, told by its seed and, when some of its steps are left out, by those that are kept.
package struct Trial {
  package var seed: UInt64
  /// Places of the steps that are carried out; nil for all of them.
  package var kept: [Int]?

  package init(seed: UInt64, kept: [Int]? = nil) {
    self.seed = seed
    self.kept = kept
  }

  package struct Result {
    /// The rule that does not hold; nil when all do.
    package var broken: String?
    package var lines: [String]
  }

  /// Of the whole history.
  package var stepCount: Int { Step.history(seed: seed).count }

  /// Each with its place in the whole history.
  var steps: [(place: Int, step: Step)] {
    let all = Array(Step.history(seed: seed).enumerated()).map { (place: $0.offset, step: $0.element) }
    return kept.map { kept in kept.filter(all.indices.contains).map { all[$0] } } ?? all
  }

  package func run(on table: Table, keepsText: Bool = false) -> Result {
    let world = World(seed: seed, folder: table.folder, keepsText: keepsText)
    do {
      try world.play(steps)
      return Result(broken: nil, lines: world.record.lines)
    } catch let broken as Broken {
      return Result(broken: broken.rule, lines: world.record.lines)
    } catch {
      return Result(broken: "\(error)", lines: world.record.lines)
    }
  }
}

/// Where histories are played: one disk, one folder, one database to begin with. One a process.
package final class Table {
  private(set) var folder = Folder()

  package init() throws {
    guard disk_install(folder.root) == 0 else { throw Broken(rule: "the disk cannot be installed") }
    try World.makeTemplate(in: folder)
    folder.findBodyFolders()
    try checkThatNamesAreSeen()
  }

  package func clear() { folder.remove() }

  /// Without this every rule about names would hold by itself.
  private func checkThatNamesAreSeen() throws {
    let before = disk_name_calls()
    folder.touch()
    guard disk_name_calls() > before else {
      throw Broken(rule: "names are made past the disk: its functions do not stand in the C library's place")
    }
  }
}

extension Trial {
  /// The fewest steps that break the same rule, found by leaving out ever smaller stretches. Each try is a
  /// process of its own, since what is looked for may end it.
  package func shrunk(on table: Table) -> Trial {
    guard let rule = runApart(on: table) else { return self }
    var kept = self.kept ?? Array(Step.history(seed: seed).indices)
    var size = max(kept.count / 2, 1)
    while true {
      var start = 0
      var hasChanged = false
      while start < kept.count {
        var fewer = kept
        fewer.removeSubrange(start..<min(start + size, kept.count))
        if Trial(seed: seed, kept: fewer).runApart(on: table) == rule {
          kept = fewer
          hasChanged = true
        } else {
          start += size
        }
      }
      if size == 1 && !hasChanged { return Trial(seed: seed, kept: kept) }
      size = max(size / 2, 1)
    }
  }

  /// The rule that it breaks in a process of its own, numbers apart; "the process ends by itself" if it does.
  private func runApart(on table: Table) -> String? {
    var ends: [Int32] = [0, 0]
    guard pipe(&ends) == 0 else { return nil }
    let child = disk_fork()
    if child == 0 {
      close(2)
      let rule = Array((run(on: table).broken ?? "").utf8.prefix(4000))
      _ = write(ends[1], rule, rule.count)
      _exit(0)
    }
    close(ends[1])
    var bytes = [UInt8](repeating: 0, count: 4096)
    var count = 0
    while case let got = read(ends[0], &bytes[count], bytes.count - count), got > 0 { count += got }
    close(ends[0])
    var status: Int32 = 0
    waitpid(child, &status, 0)
    if status != 0 { return "the process ends by itself" }
    let rule = String(decoding: bytes[..<count], as: UTF8.self).filter { !$0.isNumber }
    return rule.isEmpty ? nil : rule
  }
}
