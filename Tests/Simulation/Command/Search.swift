import Disk
import Glibc
import Simulation

/// Plays histories in some processes side by side, until one breaks a rule or each has played its share.
struct Search {
  let options: Options

  /// What a worker shows of itself, in memory that outlives it.
  private struct Board {
    var played: UInt64 = 0
    var seed: UInt64 = 0
    /// Set by the first process: another worker has found something.
    var hasToEnd = false
  }

  func run() throws -> Int32 {
    let size = MemoryLayout<Board>.stride * options.workers
    guard let memory = mmap(nil, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0),
      memory != MAP_FAILED
    else { throw Misuse(message: "no memory") }
    let boards = memory.bindMemory(to: Board.self, capacity: options.workers)
    for worker in 0..<options.workers { (boards + worker).initialize(to: Board()) }
    print("seed \(options.seed)")
    fflush(nil)
    let begun = Search.now()
    var children: [Int32: Int] = [:]
    for worker in 0..<options.workers {
      let child = disk_fork()
      if child == 0 { _exit(work(worker, boards + worker, begun)) }
      children[child] = worker
    }
    var failed: [UInt64] = []
    while !children.isEmpty {
      var status: Int32 = 0
      let child = wait(&status)
      guard let worker = children.removeValue(forKey: child) else { continue }
      if status != 0 { failed.append(boards[worker].seed) }
      if !failed.isEmpty { for other in children.values { boards[other].hasToEnd = true } }
    }
    let played = (0..<options.workers).reduce(UInt64(0)) { $0 + boards[$1].played }
    let seconds = Search.now() - begun
    if let seed = failed.first { try report(seed) }
    let rate = Int(Double(played) / max(seconds, 0.001))
    let tenths = Int(seconds * 10)
    print(
      "\(played) histories in \(tenths / 10).\(tenths % 10) s, \(rate) a second: "
        + (failed.isEmpty ? "no rule was broken" : "BROKEN"))
    try writeSummary(played, seconds, failed)
    return failed.isEmpty ? 0 : 1
  }

  private static func now() -> Double {
    var time = timespec()
    clock_gettime(CLOCK_MONOTONIC, &time)
    return Double(time.tv_sec) + Double(time.tv_nsec) / 1e9
  }

  /// Every so many-th seed, counted from the first.
  private func work(_ worker: Int, _ board: UnsafeMutablePointer<Board>, _ begun: Double) -> Int32 {
    do {
      let table = try Table()
      defer { table.clear() }
      let count = options.count ?? (options.seconds == nil ? 2000 : .max)
      var place = UInt64(worker)
      while place < count && !board.pointee.hasToEnd {
        if let seconds = options.seconds, Search.now() - begun >= seconds { break }
        board.pointee.seed = options.seed &+ place
        if Trial(seed: board.pointee.seed).run(on: table).broken != nil { return 1 }
        board.pointee.played += 1
        place += UInt64(options.workers)
      }
      return 0
    } catch {
      print("worker \(worker): \(error)")
      return 1
    }
  }

  /// The seed, the history of the fewest steps, the rule, and how to see them again.
  private func report(_ seed: UInt64) throws {
    let table = try Table()
    defer { table.clear() }
    print("seed \(seed) breaks a rule; shrinking")
    let trial = Trial(seed: seed).shrunk(on: table)
    fflush(nil)
    let child = disk_fork()
    if child == 0 {
      let result = trial.run(on: table, keepsText: true)
      for line in result.lines { print("  \(line)") }
      print("BROKEN: \(result.broken ?? "not once more")")
      fflush(nil)
      _exit(0)
    }
    var status: Int32 = 0
    waitpid(child, &status, 0)
    if status != 0 { print("BROKEN: the process ends by itself") }
    print("replay with: Tests/Simulation/run --seed \(seed) --keep \(Options.text(of: trial.kept ?? []))")
  }

  private func writeSummary(_ played: UInt64, _ seconds: Double, _ failed: [UInt64]) throws {
    guard let path = options.json else { return }
    let text = """
      {"drill":"simulation","seed":\(options.seed),"histories":\(played),"seconds":\(Int(seconds)),\
      "broken":[\(failed.map { "\($0)" }.joined(separator: ","))]}

      """
    guard let file = fopen(path, "w") else { throw Misuse(message: "\(path) cannot be written") }
    fputs(text, file)
    fclose(file)
  }
}
