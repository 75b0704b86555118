/// Which kind of due work takes the next free slot (D25).
package struct Slots: Sendable {
  package var concurrency: Concurrency
  private var runningHigh = 0
  private var runningNormal = 0
  private var runningByOrigin: [Origin: Int] = [:]
  /// Starts of high priority since the last normal one.
  private var highInARow = 0

  /// After so many starts of high priority a due normal entry gets the next slot that is not reserved.
  private static let highLimit = 3

  package init(_ concurrency: Concurrency) {
    self.concurrency = concurrency
  }

  /// Attempts that run.
  package var running: Int { runningHigh + runningNormal }

  /// Whether any priority may start.
  package var hasRoom: Bool { running < concurrency.total }

  /// Whether an entry of this priority may start.
  package func hasRoom(for priority: Descriptor.Priority) -> Bool {
    switch priority {
    case .high: hasRoom
    case .normal: hasRoomForNormal
    }
  }

  private var hasRoomForNormal: Bool {
    hasRoom && runningNormal < concurrency.total - concurrency.reservedHigh
  }

  /// The priority of the next start; nil when none of the due work may start now.
  package func next(highDue: Bool, normalDue: Bool) -> Descriptor.Priority? {
    let normalMay = normalDue && hasRoomForNormal
    if highDue && hasRoom && !(normalMay && highInARow >= Slots.highLimit) { return .high }
    return normalMay ? .normal : nil
  }

  /// Attempts that run to the origin.
  package func running(to origin: Origin) -> Int { runningByOrigin[origin] ?? 0 }

  /// Whether the origin has all the attempts at once that it may have.
  package func isFull(_ origin: Origin) -> Bool {
    concurrency.perOrigin.map { running(to: origin) >= $0 } ?? false
  }

  /// An attempt began.
  package mutating func took(_ priority: Descriptor.Priority, origin: Origin) {
    switch priority {
    case .high:
      runningHigh += 1
      highInARow += 1
    case .normal:
      runningNormal += 1
      highInARow = 0
    }
    runningByOrigin[origin, default: 0] += 1
  }

  /// An attempt that was counted by `took` ended.
  package mutating func freed(_ priority: Descriptor.Priority, origin: Origin) {
    switch priority {
    case .high: runningHigh -= 1
    case .normal: runningNormal -= 1
    }
    let left = running(to: origin) - 1
    runningByOrigin[origin] = left > 0 ? left : nil
  }
}
