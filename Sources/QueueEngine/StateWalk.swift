import QueueModel

/// The state events of a change that concerns many entries: a walk over the table at the pace of the reader
/// (D1). A stretch of the table remembers which changes its rows were not yet told of.
struct StateWalk {
  /// The gates as they were before the change, and the turn that made it.
  struct Change {
    var before: Gates
    var turn: Int64
  }

  /// Creation numbers from `after` (exclusive) to `through` (inclusive).
  struct Stretch {
    var after: Int64
    var through: Int64
    var changes: [Change]

    /// The gates under which a row written by `turn` was last told; nil when it told of itself since.
    func toldUnder(rowOf turn: Int64) -> Gates? {
      changes.first { turn < $0.turn }?.before
    }
  }

  private(set) var stretches: [Stretch] = []
  /// More changes than are worth telling apart: the reader is told to read again.
  private(set) var isLost = false

  /// More changes than this on the way and a reader is better served by `resync`.
  static let limit = 8

  var isEmpty: Bool { stretches.isEmpty && !isLost }

  /// Notes a change that rows up to the creation number `last` have not been told of.
  mutating func begin(_ change: Change, through last: Int64) {
    guard !isLost else { return }
    var all: [Stretch] = []
    var reached: Int64 = 0
    for stretch in stretches {
      if reached < stretch.after {
        all.append(Stretch(after: reached, through: stretch.after, changes: [change]))
      }
      all.append(Stretch(after: stretch.after, through: stretch.through, changes: stretch.changes + [change]))
      reached = stretch.through
    }
    if reached < last { all.append(Stretch(after: reached, through: last, changes: [change])) }
    stretches = all
    if stretches.contains(where: { $0.changes.count > StateWalk.limit }) {
      stretches = []
      isLost = true
    }
  }

  /// The rows of the first stretch have been told up to and with `number`.
  mutating func advance(to number: Int64) {
    guard !stretches.isEmpty else { return }
    stretches[0].after = number
    if number >= stretches[0].through { stretches.removeFirst() }
  }

  /// The `resync` was sent.
  mutating func resynced() { isLost = false }
}
