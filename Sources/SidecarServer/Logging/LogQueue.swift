/// Lines that wait to be written. Those that find no room are counted, and so is every later one until the
/// others are taken: the lines keep their order around the gap.
struct LogQueue {
  /// Bytes of lines that wait.
  static let room = 256 << 10

  private var lines: [[UInt8]] = []
  private var size = 0
  private var leftOut = 0
  /// Comes behind everything, room or not.
  var last: [UInt8]?

  var isEmpty: Bool { lines.isEmpty && leftOut == 0 && last == nil }

  /// False when the line was left out.
  mutating func put(_ line: [UInt8]) -> Bool {
    guard leftOut == 0, size + line.count <= LogQueue.room || lines.isEmpty else {
      leftOut += 1
      return false
    }
    lines.append(line)
    size += line.count
    return true
  }

  /// All that waits, and how many lines were left out behind `lines`.
  mutating func take() -> (lines: [[UInt8]], leftOut: Int, last: [UInt8]?) {
    defer { self = LogQueue() }
    return (lines, leftOut, last)
  }
}
