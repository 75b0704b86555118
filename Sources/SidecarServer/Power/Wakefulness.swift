/// When the machine is kept awake: as soon as something is sent, and a little longer than that, so that the
/// short pauses between attempts do not let it go. Times are of the boot clock, ms.
struct Wakefulness {
  enum Step: Equatable {
    case acquire, release
    /// Nothing to do before then; nil until something changes.
    case wait(until: Int64?)
  }

  /// How long it is held after the last transmission.
  static let lingerMs: Int64 = 3000
  /// After a lock that could not be had.
  static let patienceMs: Int64 = 60_000

  private var isTransmitting = false
  private var idleSince: Int64 = 0
  private(set) var isHeld = false
  private var triesAgainAt: Int64 = .min

  /// False when that was known.
  mutating func note(isTransmitting: Bool, at now: Int64) -> Bool {
    guard isTransmitting != self.isTransmitting else { return false }
    self.isTransmitting = isTransmitting
    idleSince = now
    return true
  }

  func step(at now: Int64) -> Step {
    switch (isTransmitting, isHeld) {
    case (true, true), (false, false): return .wait(until: nil)
    case (true, false): return now >= triesAgainAt ? .acquire : .wait(until: triesAgainAt)
    case (false, true):
      let end = idleSince + Wakefulness.lingerMs
      return now >= end ? .release : .wait(until: end)
    }
  }

  mutating func acquired() {
    isHeld = true
    triesAgainAt = .min
  }

  mutating func failed(at now: Int64) { triesAgainAt = now + Wakefulness.patienceMs }

  mutating func released() { isHeld = false }
}
