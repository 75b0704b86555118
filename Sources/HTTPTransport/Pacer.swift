import CCurl
import QueueModel

/// Holds back bodies so that they are sent as fast as `Bandwidth` allows and no faster (D53). Belongs to the
/// loop's thread.
final class Pacer {
  private var shares = BandwidthShares<AttemptID>()

  func configure(_ bandwidth: Bandwidth) { shares.configure(bandwidth, at: MonotonicTime.now) }

  /// Whether bodies of this key are held back.
  func limits(_ key: EntryKey?) -> Bool { shares.limits(key) }

  /// The attempt has bytes left to send and none that it may.
  func wait(_ attempt: AttemptID, _ key: EntryKey?, wants: Int64) {
    shares.wait(attempt, key, wants: wants)
  }

  func leave(_ attempt: AttemptID) { shares.leave(attempt) }

  /// Attempts that may go on, with the bytes that they may send.
  func grants() -> [(sender: AttemptID, bytes: Int64)] {
    shares.isIdle ? [] : shares.grants(at: MonotonicTime.now)
  }

  /// When to ask for grants again, ms; nil while nobody waits.
  var nextAt: Int64? { shares.nextAt }
}

/// The pace of one exchange.
struct Pace {
  let pacer: Pacer
  let attempt: AttemptID
  let key: EntryKey?
  /// Bytes that it was granted and has not sent.
  private var allowance: Int64 = 0
  /// libcurl was told to pause until more is granted.
  private(set) var isHeldBack = false
  /// It was, once at least.
  private(set) var wasHeldBack = false

  init(_ pacer: Pacer, _ attempt: AttemptID, _ key: EntryKey?) {
    self.pacer = pacer
    self.attempt = attempt
    self.key = key
  }

  /// How many of so many bytes may be read now; nil when it has to pause, and is in the row of those that
  /// wait.
  mutating func room(for bytes: Int, left: Int64) -> Int? {
    guard pacer.limits(key), left > 0 else { return bytes }
    guard allowance > 0 else {
      if !isHeldBack { pacer.wait(attempt, key, wants: left) }
      isHeldBack = true
      wasHeldBack = true
      return nil
    }
    return Int(min(Int64(bytes), allowance))
  }

  mutating func used(_ bytes: Int) { allowance = max(0, allowance - Int64(bytes)) }

  mutating func grant(_ bytes: Int64) {
    allowance += bytes
    isHeldBack = false
  }

  /// Other limits hold: what was granted under the old ones is void.
  mutating func forfeit() { allowance = 0 }
}
