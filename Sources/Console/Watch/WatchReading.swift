import QueueModel
import QueueStore

/// What the database says at one time of all that a screen shows.
struct WatchReading {
  let queue: StoredQueue
  let counts: [Row.State: Int64]
  private let key: EntryKey?

  init(_ directory: String, key: String?) throws(Failure) {
    let key = key.map { EntryKey($0) }
    queue = try StoredQueue(directory)
    self.key = key
    let gates = queue.gates
    let counts = try queue.ask { reader throws(StoreError) in
      let buckets = try reader.counts().filter { key == nil || $0.key == key }
      return gates.countByState(buckets, apart: try reader.misplaced(of: gates.pausedGroups))
    }
    self.counts = counts.filter { $0.value > 0 }
  }

  func listing(_ order: Scene.Order, _ filter: Scene.Filter) -> Listing {
    typealias States = Set<EntryPages.StoredState>
    let states: States =
      switch filter {
      case .all: Set(EntryPages.StoredState.allCases)
      case .running: [.running]
      case .waiting: [.queued, .held, .awaitingAuth]
      case .failed: [.error]
      }
    let sections: [(states: States, isUpwards: Bool)] =
      switch order {
      case .runningFirst: [(states.intersection([.running]), true), (states.subtracting([.running]), true)]
      case .oldest: [(states, true)]
      case .newest: [(states, false)]
      }
    let (queue, key) = (queue, key)
    return Listing(sections: sections.map(\.isUpwards)) {
      section, number, isUpwards, limit throws(Failure) in
      try queue.ask { reader throws(StoreError) in
        try EntryPages(reader).numbers(
          from: number, isUpwards: isUpwards, states: sections[section].states, key: key, limit: limit)
      }
    }
  }

  /// Entries that have gone since their place was read are left out.
  func entries(_ places: [Viewport.Place]) throws(Failure) -> [Entry] {
    try queue.ask { reader throws(StoreError) in
      var entries: [Entry] = []
      for place in places { if let entry = try reader.entry(number: place.number) { entries.append(entry) } }
      return entries
    }
  }
}
