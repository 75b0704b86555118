/// Sees that the loop turns without anything coming of it. libcurl 7.88 waits for a writable socket while the
/// peer's HTTP/2 window is shut; the socket always is, so its poll does not wait (A-CONN-11).
struct SpinBrake {
  /// How long to rest, us; that much later is a window used that has opened.
  static let restUs: UInt32 = 2000

  private static let bearable = 100
  /// A poll that took as long did wait, whatever the clock's grain.
  private static let waited: Int64 = 2

  private var moved: Int64 = 0
  private var rounds = 0

  /// Takes what all transfers have moved by now, bytes, and how long the poll took, ms. True when it is time
  /// to rest.
  mutating func mustRest(moved now: Int64, pollTook ms: Int64) -> Bool {
    let isIdle = now == moved && ms < SpinBrake.waited
    moved = now
    rounds = isIdle ? rounds + 1 : 0
    return rounds > SpinBrake.bearable
  }
}
