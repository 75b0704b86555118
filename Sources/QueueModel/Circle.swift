/// Whether entries would wait for each other in a circle (D45, D47).
package enum Circle: Sendable, Equatable {
  case none
  /// These wait for each other.
  case closed([EntryID])
  /// More entries wait for each other than are looked at in one call.
  case tooLarge

  /// Looks along what is new: what was there before has no circle.
  ///
  /// - Parameters:
  ///   - first: Entries that somebody is about to wait for.
  ///   - waitsFor: Whom an entry will wait for.
  package static func search<Failure: Error>(
    from first: [EntryID], waitsFor: (EntryID) throws(Failure) -> [EntryID]
  ) throws(Failure) -> Circle {
    var done: Set<EntryID> = []
    var way: [(id: EntryID, others: [EntryID])] = []
    var onWay: Set<EntryID> = []
    for root in first where !done.contains(root) {
      way.append((root, try waitsFor(root)))
      onWay.insert(root)
      while !way.isEmpty {
        guard let next = way[way.count - 1].others.popLast() else {
          let left = way.removeLast().id
          onWay.remove(left)
          done.insert(left)
          continue
        }
        if onWay.contains(next) { return .closed(Array(way.map(\.id).drop { $0 != next })) }
        guard !done.contains(next) else { continue }
        guard done.count + way.count < Bounds.circleSearch else { return .tooLarge }
        way.append((next, try waitsFor(next)))
        onWay.insert(next)
      }
    }
    return .none
  }
}
