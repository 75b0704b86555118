import QueueModel
import QueueStore

/// Outcomes on their way to hosts: journaled, out at most `window` at a time, forgotten when acknowledged.
extension Turn {
  mutating func subscribe(_ subscription: Subscription, from id: HostID, _ reply: @escaping Completion<Void>)
  {
    answer(reply, ())
    let hadOne = state.connections[id]?.subscription != nil
    state.connections[id]?.subscription = subscription
    state.connections[id]?.walk = StateWalk()
    // From the beginning: brings back what was released; what this connection holds is passed over.
    state.connections[id]?.cursor = 0
    state.connections[id]?.again = []
    state.connections[id]?.mayHaveMore = true
    state.connections[id]?.released = []
    // What the subscription before covered and this one does not goes to the others.
    if hadOne { state.lookAgain(from: 1, but: id) }
    state.subscribers.removeAll { $0 == id }
    state.subscribers.append(id)
  }

  mutating func unsubscribe(from id: HostID, _ reply: @escaping Completion<Void>) {
    endSubscription(of: id)
    answer(reply, ())
  }

  mutating func disconnect(_ id: HostID, _ writer: Writer) throws(StoreError) {
    endSubscription(of: id)
    state.connections[id] = nil
    if state.networkOverrides.contains(where: { $0.host == id }) {
      state.networkOverrides.removeAll { $0.host == id }
      try applyNetwork(writer)
    }
  }

  /// What the connection held may go to others, who look again from the beginning.
  private mutating func endSubscription(of id: HostID) {
    state.subscribers.removeAll { $0 == id }
    guard let connection = state.connections[id], connection.subscription != nil else { return }
    state.connections[id]?.subscription = nil
    state.connections[id]?.held = [:]
    state.connections[id]?.heldBytes = 0
    state.connections[id]?.released = []
    // What it held, and what the others passed over because it was this connection's to come.
    let oldest = connection.held.values.map(\.number).min() ?? .max
    state.lookAgain(from: min(oldest, connection.cursor + 1), but: id)
  }

  mutating func acknowledge(
    _ eventIDs: [String], _ reply: @escaping Completion<Void>, _ writer: Writer
  ) throws(StoreError) {
    for eventID in eventIDs {
      guard let subject = try writer.subject(ofEvent: eventID) else { continue }
      guard let number = subject.entry else {
        try acknowledgeGroup(eventID, writer)
        continue
      }
      try forgetOutcome(subject.number, eventID, writer)
      if let entry = try writer.entry(number: number), entry.isForgotten(byEvent: eventID) {
        try forget(entry, writer)
      }
    }
    answer(reply, ())
  }

  private mutating func acknowledgeGroup(_ eventID: String, _ writer: Writer) throws(StoreError) {
    guard case (let number, .group(let outcome))? = try writer.outcome(eventID: eventID) else { return }
    try forgetOutcome(number, eventID, writer)
    try writer.acknowledge(outcome)
    state.mayHaveKept = true
  }

  private mutating func forgetOutcome(
    _ number: Int64, _ eventID: String, _ writer: Writer
  ) throws(StoreError) {
    mustSync()
    try writer.deleteOutcome(number)
    state.letGo(eventID)
  }

  /// "Not handled here": the outcome goes to the next connection, or waits for the next subscribe.
  mutating func release(_ eventIDs: [String], from id: HostID, _ reply: @escaping Completion<Void>) {
    for eventID in eventIDs {
      guard let outcome = state.connections[id]?.held[eventID] else { continue }
      state.connections[id]?.letGo(eventID)
      state.connections[id]?.released.insert(outcome.number)
      state.offer(outcome.number, but: id)
    }
    answer(reply, ())
  }

  /// Fills the windows. The count of deliveries is committed before the outcome goes out.
  mutating func deliverOutcomes(_ writer: Writer) throws(StoreError) {
    state.hasOutcomesLeft = false
    for id in state.subscribers {
      guard let connection = state.connections[id], connection.mayHaveMore,
        let subscription = connection.subscription, subscription.wantsRecords
      else { continue }
      try fillWindow(of: id, subscription, writer)
    }
  }

  private mutating func fillWindow(of id: HostID, _ subscription: Subscription, _ writer: Writer)
    throws(StoreError)
  {
    try takeReleased(id, writer)
    var left = Turn.outcomesLimit
    while let connection = state.connections[id], connection.hasRoom {
      guard left > 0 else {
        state.hasOutcomesLeft = true
        return
      }
      let room = connection.windowRoom
      let page = try writer.outcomes(
        after: connection.cursor, keys: subscription.keys, limit: room.outcomes, maxBytes: room.bytes,
        known: self.journaled)
      for journaled in page {
        state.connections[id]?.cursor = journaled.number
        try sendIfItsOwn(journaled, to: id, writer)
      }
      left -= page.count
      if page.isEmpty {
        state.connections[id]?.mayHaveMore = false
        return
      }
    }
  }

  /// What others released and this connection had passed over, oldest first.
  private mutating func takeReleased(_ id: HostID, _ writer: Writer) throws(StoreError) {
    for number in state.connections[id]?.again.sorted() ?? [] {
      guard let room = state.connections[id]?.windowRoom, state.connections[id]?.hasRoom == true else {
        return
      }
      state.connections[id]?.again.remove(number)
      let found = try writer.outcomes(after: number - 1, keys: nil, limit: 1, maxBytes: room.bytes).first
      // Acknowledged meanwhile, and so gone.
      guard let found, found.number == number else { continue }
      try sendIfItsOwn(found, to: id, writer)
    }
  }

  private mutating func sendIfItsOwn(_ journaled: JournaledOutcome, to id: HostID, _ writer: Writer)
    throws(StoreError)
  {
    guard !state.isHeld(journaled.record.eventID),
      state.recipient(of: journaled.number, journaled.record) == id
    else { return }
    try send(journaled, to: id, writer)
  }

  /// Outcomes that a turn looks at for one connection: most may be others', and behind them a turn would
  /// take as long as the journal is.
  private static let outcomesLimit = 512

  private mutating func send(_ journaled: JournaledOutcome, to id: HostID, _ writer: Writer)
    throws(StoreError)
  {
    mustSync()
    try writer.countDelivery(journaled.number)
    self.journaled[journaled.number]?.deliveries += 1
    state.connections[id]?.hold(
      journaled.record.eventID, .init(number: journaled.number, bytes: journaled.bytes))
    let deliveries = journaled.deliveries + 1
    switch journaled.record {
    case .entry(let outcome): then(.tell(id, .settled(outcome, deliveries: deliveries)))
    case .group(let outcome): then(.tell(id, .groupSettled(outcome, deliveries: deliveries)))
    }
  }

  /// A release is not remembered against a host that asks again.
  private mutating func redeliveryRecipient(of journaled: JournaledOutcome) -> HostID? {
    for id in state.connections.keys { state.connections[id]?.released.remove(journaled.number) }
    return state.recipient(of: journaled.number, journaled.record)
  }

  /// A completed entry was enqueued again: its outcome goes out once more, even to a connection that has seen
  /// it (D8).
  mutating func redeliver(_ eventID: String, _ writer: Writer) throws(StoreError) {
    guard let journaled = try writer.journaled(eventID: eventID),
      let id = redeliveryRecipient(of: journaled), let connection = state.connections[id]
    else { return }
    if connection.held[eventID] != nil || connection.windowRoom.outcomes > 0 {
      state.letGo(eventID, but: id)
      try send(journaled, to: id, writer)
    } else {
      state.connections[id]?.cursor = min(connection.cursor, journaled.number - 1)
    }
  }
}
