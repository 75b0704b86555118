/// Sees that an upload waits for its peer to open an HTTP/2 window. libcurl 7.88 waits for a writable socket
/// then; the socket always is, so its poll does not wait (A-CONN-11). Such an upload rests, paused, until the
/// peer says something: libcurl's poll then waits for that alone.
struct WindowBrake {
  /// A rest ends by itself after this, ms: what TLS has read already makes no socket readable.
  static let longestRest: Int64 = 10

  /// After one turn without a byte the socket may have become writable a moment ago.
  private static let bearable = 2

  private var moved: Int64 = 0
  private var idleTurns = 0
  /// When the rest ends by itself, ms; nil while there is none.
  private(set) var restsUntil: Int64?

  /// Takes, after a turn of the loop, what the upload has handed over by now, bytes, and whether its socket
  /// can be written to, which is asked only where nothing was. True when a rest begins.
  mutating func mustRest(moved now: Int64, at time: Int64, canWrite: () -> Bool) -> Bool {
    guard restsUntil == nil else { return false }
    let isIdle = now == moved && canWrite()
    moved = now
    idleTurns = isIdle ? idleTurns + 1 : 0
    guard idleTurns >= WindowBrake.bearable else { return false }
    restsUntil = time + WindowBrake.longestRest
    return true
  }

  mutating func endRest() {
    restsUntil = nil
    idleTurns = 0
  }
}
