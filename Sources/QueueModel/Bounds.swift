/// The sizes that this module holds to.
enum Bounds {
  /// The largest integer of the protocol, 2^53 - 1: what a double still holds exactly.
  static let integer: Int64 = 9_007_199_254_740_991
  /// Bytes of an id or a key (D10).
  static let name = 256
  /// Bytes of vars.
  static let vars = 8_388_608
  /// Of one member in the progress of its group (D48).
  static let weight: Double = 1_000_000_000
  /// Requests that one call enqueues together (D50).
  static let enqueuesTogether = 1000
  /// Bytes of an answer's body that an attempt event holds (B173).
  static let attemptBody = 4096
  /// Bytes of one URL, and of one map of headers with its line ends: libcurl cannot build a request head of 1
  /// MiB, and what cannot be sent is refused before it is kept.
  static let requestHead = 256 * 1024
  /// 2xx answers cut in a row until one of them counts (D12).
  static let cutAnswers: Int64 = 5
  /// Ranges of one chunk plan.
  static let ranges: Int64 = 100_000
  /// Attempts at once, parts at once.
  static let concurrency: Int64 = 1024
  /// Keys with a limit of their own on the bytes they send.
  static let limitedKeys = 1000
  /// Entries that one entry waits for.
  static let predecessors = 1000
  /// Names of one `bind`.
  static let bindings = 64
  /// Bytes of `data` that holds places for values, and of what it becomes: both are put together in memory
  /// for each attempt.
  static let dataTemplate = 1 << 20
  static let expandedData = 8 << 20
  /// Ids in `after` and `bind` of one call, all entries together.
  static let predecessorsTogether = 10_000
  /// Entries looked at before a call is refused because whether they wait for each other cannot be told.
  static let circleSearch = 20_000
}
