/// How many attempts at once a server seems to take, learnt from its answers (D51): more while it answers as
/// fast as ever, fewer when it refuses, or when fewer at once turn out to be answered faster. Forgotten with
/// the process.
package struct AdaptiveLimit: Sendable, Equatable {
  /// At once before anything is known.
  package static let initial = 4

  private var level = AdaptiveLimit.initial
  /// Grows with each answer, until something speaks against it; with each round from then on.
  private var isStarting = true
  private var round = Round(number: 0, level: AdaptiveLimit.initial)
  private var trial: Trial?
  /// The first trial comes early: the server may have been pressed from the beginning.
  private var roundsSinceTrial = AdaptiveLimit.roundsBetweenTrials - 8
  /// The mean time to an answer while the server is not pressed, ms.
  private var usualMs: Double?
  private var tooMany: TooMany?
  /// The last round was slow; one alone may be chance.
  private var wasPressed = false
  /// Refusals of attempts that began in an earlier round are about a limit that is gone.
  private var shrunkIn: Int64 = 0

  /// What an attempt keeps of its beginning.
  package struct Stamp: Sendable, Equatable {
    fileprivate var round: Int64
    /// Attempts at once, itself included.
    fileprivate var among: Int
  }

  /// Answers to attempts that all began under the same limit.
  private struct Round: Sendable, Equatable {
    let number: Int64
    /// The limit at its beginning.
    let level: Int
    var answers = 0
    var timed = 0
    var totalMs: Int64 = 0
    /// The most attempts at once.
    var peak = 0

    var meanMs: Double? { timed > 0 ? Double(totalMs) / Double(timed) : nil }

    mutating func note(_ afterMs: Int64?) {
      answers += 1
      guard let afterMs else { return }
      timed += 1
      totalMs += afterMs
    }
  }

  /// One round with half as many, which shows whether the server is slow because of us.
  private struct Trial: Sendable, Equatable {
    var level: Int
    /// Before it.
    var meanMs: Double
  }

  /// A limit that was refused, and how many rounds pass before it is tried again.
  private struct TooMany: Sendable, Equatable {
    var level: Int
    var rounds: Int
    var waited = 0

    static let shortest = 1
    static let longest = 32
  }

  /// Answers from which a mean says something.
  private static let shortestRound = 16
  private static let firstRounds = 8
  private static let roundsBetweenTrials = 32
  /// How much slower answers are than usual where it counts: by this factor, and by so many ms, since what
  /// the clocks of a transport see is no finer.
  private static let rise = (factor: 1.5, ms: 50.0)
  /// How much slower they were than in a trial.
  private static let relief = (factor: 1.25, ms: 25.0)
  /// How far one round moves what is usual: up slowly, so that a server that is pressed a little more each
  /// round does not pass for usual.
  private static let falls = 0.25
  private static let rises = 0.03
  /// What is left of a limit that was refused.
  private static let kept = 0.85
  /// Slow answers lead no lower: with two at once the wire is never idle while a server thinks.
  private static let fewestWhenSlow = 2

  package init() {}

  /// Attempts at once.
  package var current: Int { trial?.level ?? level }

  /// An attempt began.
  ///
  /// - Parameter running: Attempts at once to the server, this one included.
  package mutating func began(running: Int) -> Stamp {
    round.peak = max(round.peak, running)
    return Stamp(round: round.number, among: running)
  }

  /// The server has done what it was asked.
  ///
  /// - Parameters:
  ///   - afterMs: From the end of the request to the head of the answer; nil when that is not known.
  ///   - most: No limit exceeds it.
  package mutating func answered(_ stamp: Stamp, afterMs: Int64?, most: Int) {
    if isStarting, trial == nil, round.peak >= round.level, level < 2 * round.level { grow(to: most) }
    guard stamp.round == round.number else { return }
    round.note(afterMs)
    let shortest = isStarting ? Self.firstRounds : Self.shortestRound
    if round.answers >= max(2 * round.level, shortest) { endRound(most: most) }
  }

  /// The server wants less.
  package mutating func refused(_ stamp: Stamp) {
    // What a lone attempt is refused for is not their number.
    guard stamp.round >= shrunkIn, stamp.among > 1 else { return }
    let tried = min(current, stamp.among)
    let fewer = Int(Double(tried) * Self.kept)
    shrink(to: max(1, min(tried - 1, fewer)), from: tried)
  }

  /// Nothing is known any more: the server was away.
  package mutating func restart() {
    let next = round.number + 1
    self = AdaptiveLimit()
    level = 1
    round = Round(number: next, level: 1)
    shrunkIn = next
  }

  // MARK: Rounds

  private mutating func endRound(most: Int) {
    let ended = round
    defer { round = Round(number: ended.number + 1, level: current) }
    tooMany?.waited += 1
    roundsSinceTrial += 1
    guard let meanMs = ended.meanMs else {
      trial = nil
      return
    }
    if let trial {
      endTrial(trial, meanMs)
    } else if isPressed(meanMs) {
      isStarting = false
      if wasPressed { beginTrial(after: meanMs) } else { wasPressed = true }
    } else if isTrialDue {
      beginTrial(after: meanMs)
    } else {
      wasPressed = false
      let usual = usualMs ?? meanMs
      usualMs = usual + (meanMs - usual) * (meanMs < usual ? Self.falls : Self.rises)
      if !isStarting, ended.peak >= ended.level { grow(to: most) }
    }
  }

  private mutating func beginTrial(after meanMs: Double) {
    wasPressed = false
    roundsSinceTrial = 0
    if level > 1 { trial = Trial(level: level / 2, meanMs: meanMs) }
  }

  private func isPressed(_ meanMs: Double) -> Bool {
    guard let usualMs else { return false }
    return meanMs > usualMs * Self.rise.factor && meanMs > usualMs + Self.rise.ms
  }

  /// What is usual was perhaps learnt from a server that was pressed already.
  private var isTrialDue: Bool {
    roundsSinceTrial >= Self.roundsBetweenTrials && level > Self.fewestWhenSlow
  }

  private mutating func endTrial(_ trial: Trial, _ meanMs: Double) {
    self.trial = nil
    usualMs = meanMs
    guard trial.meanMs > meanMs * Self.relief.factor, trial.meanMs > meanMs + Self.relief.ms else { return }
    // So many are answered at the pace of the trial; the others only waited.
    let fitting = Int(Double(level) * meanMs / trial.meanMs) + 1
    let fewest = min(Self.fewestWhenSlow, level)
    guard level > fewest else { return }
    shrink(to: min(max(fitting, fewest), level - 1), from: level)
  }

  private mutating func grow(to most: Int) {
    guard level < most else { return }
    if let tooMany, level + 1 >= tooMany.level, tooMany.waited < tooMany.rounds { return }
    level += 1
    if let tooMany, level > tooMany.level { self.tooMany = nil }
  }

  private mutating func shrink(to fewer: Int, from tried: Int) {
    if let known = tooMany, tried <= known.level {
      tooMany = TooMany(level: tried, rounds: min(known.rounds * 2, TooMany.longest))
    } else {
      tooMany = TooMany(level: tried, rounds: TooMany.shortest)
    }
    level = fewer
    isStarting = false
    wasPressed = false
    trial = nil
    round = Round(number: round.number + 1, level: level)
    shrunkIn = round.number
  }
}
