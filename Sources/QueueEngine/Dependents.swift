import QueueModel
import QueueStore

/// What the end of an entry means for others. Every end passes `ended`.
extension Turn {
  /// The entry has settled: it waits for nobody, its lane goes on, and those that wait for it are told, in
  /// this transaction or, when they are many, in the next ones.
  mutating func ended(_ entry: Entry, _ outcome: Outcome, _ writer: Writer) throws(StoreError) {
    if try !writer.edges(of: entry.number).isEmpty { try writer.closeEdges(of: entry.number) }
    if let lane = entry.lane {
      try writer.leaveLane(entry.number)
      try goOn(lane, writer)
    }
    guard try writer.isWaitedFor(entry.id) else { return }
    try writer.noteEnd(outcome.forSuccessors)
    state.hasConsequencesLeft = true
  }

  /// The first of the lane may go, if it is not under way already.
  mutating func goOn(_ lane: Lane, _ writer: Writer) throws(StoreError) {
    if lanesHeldBack != nil {
      lanesHeldBack?.append(lane)
      return
    }
    while let number = try writer.first(of: lane) {
      if let entry = try writer.entry(number: number) {
        if entry.held?.isBehind == true { try apply(entry.cameFirst(now: now), from: entry, writer) }
        return
      }
      // A row that cannot be read holds nobody up; it goes at its deadline.
      try writer.leaveLane(number)
    }
  }

  // MARK: Rows that others need (D42)

  /// An entry that came after this one does so no longer: its row may go, in one of the next steps. One that
  /// others still come after goes only where all of them stand in a circle.
  mutating func noteIfUnneeded(_ id: EntryID, _ writer: Writer) throws(StoreError) {
    if try writer.hasSuccessors(id) {
      guard let entry = try writer.entry(id: id), entry.kept != nil, try !writer.isNeeded(entry) else {
        return
      }
    }
    try writer.noteUnneeded(id)
    state.hasConsequencesLeft = true
  }

  // MARK: Carrying out

  /// Successors told in one turn.
  private static let toldAtOnce = 256
  /// Bytes of values taken in one turn.
  private static let takenAtOnce = 4 << 20

  /// Tells those that wait of the ends that they wait for, as many as a turn may take.
  mutating func carryOutConsequences(_ writer: Writer) throws(StoreError) {
    try takeUpAbandoned(writer)
    guard state.hasConsequencesLeft else { return }
    var room = Room(entries: Turn.toldAtOnce, bytes: Turn.takenAtOnce)
    while room.isLeft {
      guard let consequence = try writer.nextConsequence(at: now.wall) else {
        state.hasConsequencesLeft = false
        return
      }
      switch consequence.kind {
      case .unneeded:
        room.entries -= 1
        try writer.forget(consequence)
        if let entry = try writer.entry(id: consequence.id) { try forgetIfUnneeded(entry, writer) }
      case .settled(let settlement):
        if try tell(consequence, settlement, &room, writer) { try writer.forget(consequence) }
      }
    }
  }

  private struct Room {
    var entries: Int
    var bytes: Int
    var isLeft: Bool { entries > 0 && bytes > 0 }
  }

  /// True when nobody is left to be told.
  private mutating func tell(
    _ consequence: Consequence, _ settlement: Outcome.Settlement, _ room: inout Room, _ writer: Writer
  ) throws(StoreError) -> Bool {
    let source = AnswerSource(settlement)
    let waiting = try writer.waiting(
      for: consequence, settlingOnly: source == nil, limit: room.entries)
    for (edge, successor) in waiting {
      guard room.isLeft else { return false }
      room.entries -= 1
      guard let entry = try writer.entry(number: successor), entry.isLive else {
        try writer.closeEdges(of: successor)
        continue
      }
      if let source {
        try writer.meet(edge)
        try met(entry, consequence.id, source, &room, writer)
      } else if let failure = Outcome.Settlement.dependency(on: consequence.id, ended: settlement.kind) {
        try fail(entry, failure, writer)
      }
    }
    return waiting.isEmpty
  }

  /// The entry takes what it is bound to, and goes when this was the last that it waited for.
  private mutating func met(
    _ entry: Entry, _ predecessor: EntryID, _ source: AnswerSource, _ room: inout Room, _ writer: Writer
  ) throws(StoreError) {
    var failure: BindingFailure?
    for taken in try writer.bindings(of: entry.number, to: predecessor) {
      switch source.result(of: taken.binding) {
      case .failure(let found): failure = failure ?? found
      case .success(let value):
        room.bytes -= try writer.save(value, as: taken.binding.name, of: entry.number)
      }
    }
    mustSync()
    if let failure { return try fail(entry, failure.settlement, writer) }
    guard entry.held?.unmet == 1 else { return try apply(entry.met(now: now), from: entry, writer) }
    switch try expansion(of: entry, writer) {
    case .success(let expansion):
      try apply(entry.met(expansion: expansion, now: now), from: entry, writer)
    case .failure(let failure): try fail(entry, failure.settlement, writer)
    }
  }

  /// The entry cannot go on as it was to go on from others.
  mutating func fail(
    _ entry: Entry, _ settlement: Outcome.Settlement, _ writer: Writer
  ) throws(StoreError) {
    try apply(entry.failedBefore(settlement, now: now, randomness: engine.randomness), from: entry, writer)
  }

  private mutating func takeUpAbandoned(_ writer: Writer) throws(StoreError) {
    let abandoned = writer.takeAbandoned()
    for lane in abandoned.lanes { try goOn(lane, writer) }
    for id in abandoned.predecessors { try noteIfUnneeded(id, writer) }
  }
}
