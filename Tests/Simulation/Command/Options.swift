import Disk
import Glibc
import Simulation

struct Misuse: Error {
  var message: String
}

/// What the command line asks for.
struct Options {
  var seed = UInt64.random(in: 1...UInt64(UInt32.max))
  var count: UInt64?
  var seconds: Double?
  var workers = 2
  var json: String?
  var kept: [Int]?
  var prints = false
  var asksForHelp = false
  /// Opens the database anew each time; slower, and the same histories.
  var opensAnew = false

  static let usage = """
    usage: Tests/Simulation/run [--seed N] [--count N] [--seconds N] [--workers N] [--json FILE] [--print]
                                [--anew]
           Tests/Simulation/run --seed N --keep PLACES   replays one history, of it only the steps at these
                                                         places, such as 0,3-5
    """

  init(_ arguments: ArraySlice<String>) throws(Misuse) {
    var left = arguments
    var hasSeed = false
    while let name = left.popFirst() {
      func value() throws(Misuse) -> String {
        guard let value = left.popFirst() else { throw Misuse(message: "\(name) needs a value") }
        return value
      }
      func number<Number: LosslessStringConvertible>() throws(Misuse) -> Number {
        let text = try value()
        guard let number = Number(text) else { throw Misuse(message: "\(name) must be a number: \(text)") }
        return number
      }
      switch name {
      case "--seed":
        seed = try number()
        hasSeed = true
      case "--count": count = try number()
      case "--seconds": seconds = try number()
      case "--workers": workers = max(1, try number())
      case "--json": json = try value()
      case "--keep": kept = try Options.places(try value())
      case "--print": prints = true
      case "--anew": opensAnew = true
      case "--help", "-h": asksForHelp = true
      default: throw Misuse(message: "\(name) is not known")
      }
    }
    guard let kept else { return }
    guard hasSeed else { throw Misuse(message: "--keep needs the --seed of the history") }
    let count = Trial(seed: seed).stepCount
    guard let last = kept.max(), last < count else {
      throw Misuse(message: "--keep takes places from 0 to \(count - 1), which this history has")
    }
  }

  /// Places as in `0,3-5`.
  private static func places(_ text: String) throws(Misuse) -> [Int] {
    var places: [Int] = []
    for part in text.split(separator: ",") {
      let ends = part.split(separator: "-").compactMap { Int($0) }
      guard let first = ends.first, let last = ends.last, first <= last, ends.count <= 2 else {
        throw Misuse(message: "--keep takes places such as 0,3-5: \(text)")
      }
      places += first...last
    }
    return places
  }

  static func text(of places: [Int]) -> String {
    var ranges: [ClosedRange<Int>] = []
    for place in places {
      if let last = ranges.last, last.upperBound + 1 == place {
        ranges[ranges.count - 1] = last.lowerBound...place
      } else {
        ranges.append(place...place)
      }
    }
    return ranges.map { $0.count == 1 ? "\($0.lowerBound)" : "\($0.lowerBound)-\($0.upperBound)" }
      .joined(separator: ",")
  }

  /// The exit status.
  func run() throws -> Int32 {
    if asksForHelp {
      print(Options.usage)
      return 0
    }
    if opensAnew { disk_open_anew() }
    if prints || kept != nil { return try printHistories() }
    return try Search(options: self).run()
  }

  private func printHistories() throws -> Int32 {
    let table = try Table()
    defer { table.clear() }
    var status: Int32 = 0
    for seed in seed..<(seed + (count ?? 1)) {
      let result = Trial(seed: seed, kept: kept).run(on: table, keepsText: true)
      print("seed \(seed)")
      for line in result.lines { print("  \(line)") }
      if let broken = result.broken {
        print("BROKEN: \(broken)")
        status = 1
      } else {
        print("no rule was broken")
      }
    }
    return status
  }
}
