/// One thing that happens in a history. Steps are drawn before the history begins and say everything by
/// number, so that any of them can be left out and the rest still means something.
enum Step {
  case enqueue(host: Int, [Wish], all: Bool)
  case cancel(id: Int)
  case cancelGroup
  case retry(id: Int)
  case pause(Scope)
  case resume(Scope)
  case updateHeaders(key: Int?, origin: Int?)
  case network(Int, wifiOnly: Bool)
  case subscribe(host: Int, key: Int?, window: Int)
  case disconnect(host: Int)
  case acknowledge(pick: Int, twice: Bool)
  case release(host: Int, pick: Int)
  case diagnostics
  case answer(pick: Int, Reply, progress: Bool)
  /// The result of an attempt that was stopped, which was on its way already.
  case late(pick: Int, Reply)
  case pass(Int64)
  case setWall(Int64)
  case holdWorkers
  case letWorkersGo
  /// Calls from here on are decided together, until the next step that is none.
  case together
  case disk(Fault, after: Int64, times: Int64)
  case die(after: Int64, Death, again: Int64?)

  enum Scope {
    case queue, group
    case key(Int)
  }

  enum Fault: Int32, CaseIterable {
    case writeFails = 1
    case isFull
    case syncFails
  }

  enum Death: String, CaseIterable {
    case kill, powerCut, reboot
  }

  /// What came of one attempt.
  enum Reply: CaseIterable {
    case ok, created, cut, unusable, badRequest, unauthorized, teapot, tooMany, unavailable, earlyOK
    case notConnected, lostBefore, lostAfter, reusedDied, bodyGone
  }
}

/// One request that a host wants.
struct Wish {
  var id: Int
  var key: Int
  var variant: Int
  var body: Body
  var isHigh = false
  var wifiOnly = false
  /// From now on, ms; nil takes the default.
  var expiresIn: Int64?
  var isInGroup = false
  var isInLane = false
  var after: Int?
  var settlesOnFailure = false
  var origin: Int

  enum Body: CaseIterable {
    case data, file, parts, bigParts, moved, bigFile, reference
  }
}

extension Step {
  static let ids = 6
  static let keys = 2
  static let hosts = 2

  static func history(seed: UInt64) -> [Step] {
    var dice = Dice(seed: seed &* 0x9E37_79B9 &+ 17)
    // Some histories live on a sound disk, some see one kind of event more often than others.
    let theme = Theme(
      hasFaults: dice.chance(1, in: 3), hasDeaths: dice.chance(1, in: 2), hasLinks: dice.chance(1, in: 3),
      hasGroups: dice.chance(1, in: 3), hasBatches: dice.chance(1, in: 4), hasFiles: dice.chance(1, in: 2),
      ids: 1 + dice.below(Step.ids))
    return (0..<(15 + dice.below(30))).map { _ in Step.drawn(from: &dice, theme) }
  }

  private struct Theme {
    var hasFaults, hasDeaths, hasLinks, hasGroups, hasBatches, hasFiles: Bool
    var ids: Int
  }

  private static func drawn(from dice: inout Dice, _ theme: Theme) -> Step {
    let key = dice.below(keys)
    let id = dice.below(theme.ids)
    let host = 1 + dice.below(hosts)
    switch dice.below(100) {
    case 0..<24:
      let isMany = theme.hasBatches && dice.chance(1, in: 4)
      let first = wish(id, from: &dice, theme)
      let second = isMany && theme.ids > 1 ? [wish((id + 1) % theme.ids, from: &dice, theme)] : []
      return .enqueue(host: host, [first] + second, all: isMany)
    case 24..<29: return .cancel(id: id)
    case 29: return theme.hasGroups ? .cancelGroup : .cancel(id: id)
    case 30..<33: return .retry(id: id)
    case 33..<36: return .pause(scope(key, &dice, theme))
    case 36..<41: return .resume(scope(key, &dice, theme))
    case 41..<44:
      return .updateHeaders(
        key: dice.chance(1, in: 2) ? key : nil, origin: dice.chance(1, in: 4) ? dice.below(2) : nil)
    case 44, 45: return .network(dice.below(3), wifiOnly: dice.chance(1, in: 2))
    case 46..<51:
      return .subscribe(
        host: host, key: dice.chance(1, in: 4) ? key : nil, window: dice.chance(1, in: 3) ? 1 : 64)
    case 51..<54: return .disconnect(host: host)
    case 54..<61: return .acknowledge(pick: dice.below(16), twice: dice.chance(1, in: 8))
    case 61, 62: return .release(host: host, pick: dice.below(8))
    case 63: return .diagnostics
    case 64..<82:
      return .answer(
        pick: dice.below(4), Reply.allCases[dice.below(Reply.allCases.count)], progress: dice.chance(1, in: 4)
      )
    case 82, 83: return .late(pick: dice.below(4), dice.chance(2, in: 3) ? .ok : .badRequest)
    case 84..<89: return .pass([1, 300, 1500, 9000, 60_000][dice.below(5)])
    case 89: return .setWall([-60_000, -700, 700, 60_000][dice.below(4)])
    case 90: return .holdWorkers
    case 91: return .letWorkersGo
    case 92: return theme.hasBatches ? .together : .letWorkersGo
    case 93..<96 where theme.hasFaults:
      let fault = Fault.allCases[dice.below(3)]
      return .disk(
        fault, after: Int64(dice.below(fault == .syncFails ? 3 : 30)), times: dice.chance(1, in: 3) ? 40 : 1)
    case 96..<100 where theme.hasDeaths:
      return .die(
        after: dice.chance(1, in: 3) ? 0 : Int64(1 + dice.below(40)),
        Death.allCases[dice.below(3)], again: dice.chance(1, in: 4) ? Int64(dice.below(20)) : nil)
    default: return .answer(pick: dice.below(4), .ok, progress: false)
    }
  }

  private static func scope(_ key: Int, _ dice: inout Dice, _ theme: Theme) -> Scope {
    if theme.hasGroups && dice.chance(1, in: 3) { return .group }
    return dice.chance(1, in: 3) ? .queue : .key(key)
  }

  private static func wish(_ id: Int, from dice: inout Dice, _ theme: Theme) -> Wish {
    let bodies = Wish.Body.allCases
    var wish = Wish(
      id: id, key: dice.below(keys), variant: dice.below(2),
      body: theme.hasFiles && dice.chance(1, in: 2) ? bodies[dice.below(bodies.count)] : .data,
      origin: dice.chance(1, in: 3) ? 1 : 0)
    wish.isHigh = dice.chance(1, in: 4)
    wish.wifiOnly = dice.chance(1, in: 8)
    if dice.chance(1, in: 5) { wish.expiresIn = Int64(dice.below(8000)) - 300 }
    if theme.hasGroups { wish.isInGroup = dice.chance(1, in: 2) }
    if theme.hasLinks {
      wish.isInLane = dice.chance(1, in: 3)
      if id > 0, dice.chance(1, in: 3) {
        wish.after = dice.below(id)
        wish.settlesOnFailure = dice.chance(1, in: 2)
      }
    }
    return wish
  }
}

/// splitmix64.
struct Dice {
  private var state: UInt64

  init(seed: UInt64) { state = seed }

  mutating func next() -> UInt64 {
    state &+= 0x9E37_79B9_7F4A_7C15
    var z = state
    z = (z ^ (z >> 30)) &* 0xBF58_476D_1CE4_E5B9
    z = (z ^ (z >> 27)) &* 0x94D0_49BB_1331_11EB
    return z ^ (z >> 31)
  }

  /// 0 ..< `bound`.
  mutating func below(_ bound: Int) -> Int { Int(next() % UInt64(bound)) }

  mutating func chance(_ part: Int, in whole: Int) -> Bool { below(whole) < part }
}
