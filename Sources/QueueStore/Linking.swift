package import JSONText
package import QueueModel

/// What rows that cannot be read leave behind when they are removed.
package struct Abandoned {
  package var lanes: [Lane] = []
  package var predecessors: [EntryID] = []

  package init() {}
}

/// What entries have to do with each other.
extension Reader {
  /// Whom the entry comes after, in the order of its enqueue.
  package func edges(of number: Int64) throws(StoreError) -> [Edge] {
    try tables.links.dependencies.edges(of: number)
  }

  /// What the entry was enqueued with.
  package func dependencies(of number: Int64) throws(StoreError) -> Dependencies {
    Dependencies(
      after: try edges(of: number).map(\.predecessor),
      onFailure: try tables.links.dependencies.settles(number) ? .settle : .wait,
      bindings: try bindings(of: number).map(\.binding))
  }

  /// Some live entry waits for it.
  package func isWaitedFor(_ id: EntryID) throws(StoreError) -> Bool {
    try tables.links.dependencies.isWaitedFor(id)
  }

  /// Some entry comes after it, settled or not (D42).
  package func hasSuccessors(_ id: EntryID) throws(StoreError) -> Bool {
    try tables.links.dependencies.hasSuccessors(id)
  }

  package func bindings(of number: Int64) throws(StoreError) -> [TakenBinding] {
    try tables.links.bindings.bindings(of: number)
  }

  /// Those that take a value from this predecessor.
  package func bindings(of number: Int64, to predecessor: EntryID) throws(StoreError) -> [TakenBinding] {
    try tables.links.bindings.bindings(of: number, to: predecessor)
  }

  /// The lane in which the entry has a place: it has one while it is live.
  package func place(of number: Int64) throws(StoreError) -> Lane? {
    try tables.links.lanes.lane(of: number)
  }

  package func first(of lane: Lane) throws(StoreError) -> Int64? { try tables.links.lanes.first(of: lane) }

  package func last(of lane: Lane) throws(StoreError) -> Int64? { try tables.links.lanes.last(of: lane) }

  /// The entry right before this one in its lane.
  package func before(_ number: Int64) throws(StoreError) -> Int64? {
    try tables.links.lanes.before(number)
  }
}

extension Writer {
  /// Replaces whom the entry comes after and what it takes from them.
  package func put(
    _ edges: [Edge], settles: Bool, _ bindings: [TakenBinding], of number: Int64
  ) throws(StoreError) {
    try tables.links.dependencies.put(edges, settles: settles, of: number)
    try tables.links.bindings.put(bindings, of: number)
  }

  /// The entry has settled and waits for nobody.
  package func closeEdges(of number: Int64) throws(StoreError) {
    try tables.links.dependencies.close(of: number)
  }

  package func meet(_ edge: Int64) throws(StoreError) { try tables.links.dependencies.meet(edge) }

  /// Keeps a value that was taken. Its bytes.
  package func save(_ value: JSON, as name: String, of number: Int64) throws(StoreError) -> Int {
    try tables.links.bindings.save(value, as: name, of: number)
    return value.count
  }

  package func join(_ lane: Lane, _ number: Int64) throws(StoreError) {
    try tables.links.lanes.join(lane, number)
  }

  package func leaveLane(_ number: Int64) throws(StoreError) { try tables.links.lanes.leave(number) }

  /// Notes that an entry has settled, for those that wait for it now.
  package func noteEnd(_ outcome: Outcome) throws(StoreError) {
    try tables.links.consequences.append(
      outcome.id, outcome, through: tables.links.dependencies.lastNumber)
  }

  /// Notes that something which needed the row of this entry does so no longer (D42).
  package func noteUnneeded(_ id: EntryID) throws(StoreError) {
    try tables.links.consequences.append(id, nil, through: 0)
  }

  /// What is to be carried out next. One that cannot be read is dropped, and a diagnostic tells of it: those
  /// that wait go on waiting.
  package func nextConsequence(at wall: Int64) throws(StoreError) -> Consequence? {
    while let row = try tables.links.consequences.next() {
      if let consequence = row.consequence { return consequence }
      try tables.links.consequences.forget(row.number)
      let message = "the end of \(row.id) could not be read; entries that wait for it are not told of it"
      try addDiagnostic(Diagnostic(at: wall, level: .error, message: message), isBoot: false)
    }
    return nil
  }

  package func forget(_ consequence: Consequence) throws(StoreError) {
    try tables.links.consequences.forget(consequence.number)
  }

  /// Live entries that wait for the one that has settled and were not told of it: all, or those alone that
  /// settle when it fails.
  package func waiting(
    for consequence: Consequence, settlingOnly: Bool, limit: Int
  ) throws(StoreError) -> [(edge: Int64, successor: Int64)] {
    try tables.links.dependencies.waiting(
      for: consequence.id, settlingOnly: settlingOnly, through: consequence.through, limit: limit)
  }

  /// A row that cannot be read is removed, and with it what it had to do with others.
  func noteAbandoned(by number: Int64) throws(StoreError) {
    if let lane = try place(of: number) { abandoned.lanes.append(lane) }
    abandoned.predecessors += try edges(of: number).map(\.predecessor)
    try tables.links.delete(of: number)
  }

  package func takeAbandoned() -> Abandoned {
    defer { abandoned = Abandoned() }
    return abandoned
  }
}
