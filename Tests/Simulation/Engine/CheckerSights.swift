import QueueEngine
import QueueModel

/// What the server sees, what hosts are told, and the rows that they read.
extension Checker {
  // MARK: Server

  mutating func sent(_ sight: Sight) throws {
    let path = sight.url.split(separator: "/", omittingEmptySubsequences: false)
    let name = path.count > 3 ? path[3] : ""
    let id = String(name.prefix { $0 != "-" })
    guard var cell = cells[id] else { throw Broken(rule: "\(sight.url) is sent and was never asked for") }
    try require(flights[sight.requestID] == nil, "\(sight.requestID) is sent twice")
    try require(cell.isLive || !cell.isSure, "\(id) is sent and is \(cell.line)")
    try require(!gates.pause(cell), "\(id) is sent though paused")
    try require(!cell.isParked, "\(id) is sent though it waits for credentials")
    try require(now.steady >= cell.notBefore, "\(id) is sent \(cell.notBefore - now.steady) ms too early")
    let wishes = cell.wishes.filter { sight.url.hasPrefix($0.url) }
    try require(!wishes.isEmpty, "\(sight.url) is sent, which is not what \(id) is now")
    // A turn that was in doubt carries out what it decided when that is known, which may be later.
    try require(
      hadFault || wishes.contains { $0.expiresAt.map { now.wall < $0 } ?? true },
      "\(id) is sent beyond its deadline")
    try require(
      wishes.contains { sight.body == nil || sight.body == $0.content(at: sight.url) },
      "\(sight.url) is sent with another body")
    try require(
      sight.body != nil || wishes.contains { $0.body == .reference }, "the body of \(id) is not there")
    let others = flights.values.filter { $0.isUp && $0.id == id }
    let isPart = wishes.contains { !$0.partSizes.isEmpty }
    try require(isPart ? others.count < 3 : others.isEmpty, "\(id) is sent while it is being sent")
    try require(!others.contains { $0.url == sight.url }, "\(sight.url) is sent while it is being sent")
    try require(!cell.accepted.contains(sight.url), "\(sight.url) is sent again, though it was accepted")
    try checkOthers(of: id, cell)
    try checkSlots(for: sight)
    let token = sight.headers.first { $0.name == "Authorization" }?.value
    try require(token?.hasPrefix("Bearer secret-") == true, "\(id) is sent without its token")
    flights[sight.requestID] = Flight(
      id: id, cycle: [Int64(cell.life), cell.generation], url: sight.url, origin: sight.origin,
      movedAt: now.steady)
    cell.sent += 1
    cells[id] = cell
  }

  /// Four at once; what has been silent for 2 s lends its place to other origins, to four more at most (D52).
  /// What a doubt held up counts from when it was decided, which is not seen.
  private func checkSlots(for sight: Sight) throws {
    let up = flights.values.filter(\.isUp)
    let lent = up.count { $0.origin != sight.origin && (hadFault || $0.movedAt + 2000 <= now.steady) }
    try require(up.count - lent < 4 && up.count < 8, "more than four requests at once: \(sight.url)")
  }

  /// Those before it in its lane, those it comes after, and the network.
  private func checkOthers(of id: String, _ cell: Cell) throws {
    // Right after a start, ends that came meanwhile are not told yet.
    guard cell.isSure, cell.wishes.count == 1, restart == nil else { return }
    let wish = cell.wishes[0]
    if let lane = wish.lane, let place = cell.lanePlace {
      for (other, its) in cells where other != id && its.isLive && its.isSure && its.wishes.count == 1 {
        let isBefore = its.wishes[0].lane == lane && its.lanePlace.map { $0 < place } ?? false
        try require(!isBefore, "\(id) is sent before \(other), which comes first in its lane")
      }
    }
    for other in wish.after {
      try require(
        cells[other]?.hasCompleted == true || cells[other]?.isSure == false,
        "\(id) is sent before \(other) has completed")
    }
    if gates.isWifi == false {
      try require(!wish.wifiOnly && gates.wifiOnly != true, "\(id) is sent without Wi-Fi")
    }
  }

  // MARK: Hosts

  mutating func told(_ host: Int, _ event: HostEvent) throws {
    try keepsSecrets(event.text, "an event")
    switch event {
    case .state(let row): try moved(row)
    case .attempt(let event): try attempted(event)
    case .settled(let outcome, let deliveries): try delivered(outcome, deliveries)
    case .groupSettled(let outcome, let deliveries): try delivered(outcome, deliveries)
    case .progress(let id, let sent, let total):
      try require(sent <= total, "\(id) has sent \(sent) of \(total)")
    case .group, .resync: break
    }
  }

  private mutating func moved(_ row: Row) throws {
    let id = row.id.text
    guard var cell = cells[id] else { throw Broken(rule: "\(id) was never accepted and is \(row.state)") }
    let was = cell.state
    try require(cell.isThere || !cell.isSure, "\(id) is gone and is told \(row.state)")
    if cell.isSure, restart == nil, let was, was.isSettled {
      try require(was == row.state, "\(id) goes from \(was) to \(row.state) though nobody asked")
    }
    cell.state = row.state
    cell.isThere = true
    switch row.state {
    case .awaitingAuth: cell.isParked = true
    case .queued:
      if let next = row.nextAttemptAt {
        let due = now.steady + next - now.wall
        // After a doubt, the wall clock may have been set since the row was decided.
        let isLate = hadFault && row.updatedAt != now.wall
        try require(
          !cell.isSure || restart != nil || isLate || due + 1 >= cell.notBefore || hasOutage(cell, id)
            || isTimeShort(cell),
          "the wait of \(id) becomes shorter by \(cell.notBefore - due) ms")
        cell.notBefore = hasOutage(cell, id) || isLate ? 0 : due
      } else if restart == nil {
        try require(
          cell.notBefore <= now.steady || hasOutage(cell, id) || was == .running || !cell.isSure,
          "the wait of \(id) is forgotten")
        cell.notBefore = 0
      }
      cell.isParked = false
    case .running, .paused, .completed, .error, .cancelled: break
    }
    if row.state == .cancelled {
      try require(
        cell.wasCancelled || !cell.isSure || isGroupBeingCancelled, "\(id) is cancelled though nobody asked")
    }
    if row.state == .completed, cell.isSure, was?.isSettled != true {
      try require(cell.hasReply || !cell.accepted.isEmpty, "\(id) is completed without an answer")
    }
    let isNew = row.state.isSettled && !(was?.isSettled ?? false)
    cells[id] = cell
    if isNew { end(row) }
  }

  /// Members may have joined while the call was on its way.
  private var isGroupBeingCancelled: Bool {
    open.values.contains { if case .cancelGroup = $0 { true } else { false } }
  }

  /// The nearest deadline stands in the place of a wait that is longer.
  private func isTimeShort(_ cell: Cell) -> Bool { cell.wishes.contains { $0.expiresAt != nil } }

  /// The end of an outage wakes it earlier.
  private func hasOutage(_ cell: Cell, _ id: String) -> Bool {
    flights.values.contains { $0.id == id && $0.reply == .notConnected }
  }

  mutating func end(_ row: Row) {
    let id = row.id.text
    guard var cell = cells[id] else { return }
    if row.state == .completed { cell.hasCompleted = true }
    cell.notBefore = 0
    cell.isParked = false
    cells[id] = cell
    ends.append(
      End(
        id: id, generation: cell.generation, life: cell.life, kind: row.state, at: row.updatedAt,
        isOptional: !cell.isSure))
  }

  private mutating func attempted(_ event: AttemptEvent) throws {
    guard var flight = flights[event.requestID] else {
      throw Broken(rule: "an attempt of \(event.id) is told that the server never saw")
    }
    try require(!flight.wasTold, "two attempt events for one request of \(event.id)")
    guard let reply = flight.reply else {
      throw Broken(rule: "the attempt of \(event.id) is told before there was an answer")
    }
    flight.wasTold = true
    flights[event.requestID] = flight
    // A late answer to a part of an older generation counts to that one.
    if let cell = cells[flight.id], flight.cycle == [Int64(cell.life), cell.generation] {
      cells[flight.id]?.told += 1
    }
    if event.result == .completed {
      try require(
        [.ok, .created, .unusable, .cut].contains(reply), "\(event.id) is accepted upon \(reply)")
      if event.partIndex != nil { cells[flight.id]?.accepted.insert(flight.url) }
    } else if reply == .tooMany, event.partIndex == nil {
      cells[flight.id]?.notBefore = flight.endedAt + Step.Reply.retryAfter
    }
  }

  private mutating func delivered(_ outcome: Outcome, _ deliveries: Int64) throws {
    let (id, eventID) = (outcome.id.text, outcome.eventID)
    let kind = outcome.settlement.kind.rawValue
    if case .error(.unknown, let message, _) = outcome.settlement {
      throw Broken(rule: "\(id) ended for no reason of the host's or the server's: \(message)")
    }
    guard let index = find(outcome, kind) else {
      throw Broken(
        rule: "an outcome of \(id), generation \(outcome.generation), \(kind), is told that is none")
    }
    var end = ends[index]
    try require(
      end.id == id && end.generation == outcome.generation && end.kind.rawValue == kind,
      "\(eventID) was about \(end.id) and is about \(id)")
    try require(
      !end.isAcknowledged,
      "the outcome of \(id), generation \(end.generation), comes after its acknowledgement")
    try require(
      !end.isForgotten,
      "the outcome of \(id), generation \(end.generation), comes though it was cancelled away")
    let isNext = hadDeath ? deliveries > end.deliveries : deliveries == end.deliveries + 1
    try require(isNext || hadFault, "delivery \(deliveries) of \(id) after \(end.deliveries)")
    if isLast {
      let isLater = ends[(index + 1)...].contains { $0.id == id && $0.life == end.life && $0.cameLast }
      try require(!isLater, "outcomes of \(id) come in another order")
      end.cameLast = true
    }
    end.eventID = eventID
    end.deliveries = deliveries
    ends[index] = end
  }

  private mutating func find(_ outcome: Outcome, _ kind: String) -> Int? {
    let (id, eventID) = (outcome.id.text, outcome.eventID)
    if let known = ends.firstIndex(where: { $0.eventID == eventID }) { return known }
    // One that was forgotten is known by its time: a later life of the id counts generations anew.
    let untold = ends.indices.filter { index in
      let end = ends[index]
      return end.eventID == nil && end.id == id && end.kind.rawValue == kind
        && (!end.isForgotten || end.at == outcome.at)
    }
    // Or by its last request: two lives may end at one time.
    let cycle = outcome.requestID.flatMap { flights[$0]?.cycle }
    let ofCycle = untold.filter { [Int64(ends[$0].life), outcome.generation] == cycle }
    let ofGeneration = (ofCycle.isEmpty ? untold : ofCycle).filter {
      ends[$0].generation == outcome.generation
    }
    // Of a row in doubt nobody knows the generation.
    let fitting = ofGeneration.isEmpty ? untold.filter { ends[$0].isOptional } : ofGeneration
    let exact = fitting.filter { ends[$0].at == outcome.at }
    let possible = exact.filter { !ends[$0].isForgotten }
    let certain = possible.first { !ends[$0].isOptional }
    if let best = certain ?? possible.first ?? exact.first ?? fitting.first {
      ends[best].generation = outcome.generation
      return best
    }
    // Nobody was told of its state: the process had died, or it is about to be told by the first rows.
    guard let cell = cells[id], restart != nil || !cell.isSure, let state = Row.State(rawValue: kind) else {
      return nil
    }
    ends.append(
      End(
        id: id, generation: outcome.generation, life: cell.life, kind: state, at: outcome.at, isOptional: true
      ))
    return ends.count - 1
  }

  private mutating func delivered(_ outcome: GroupOutcome, _ deliveries: Int64) throws {
    var end = groupEnds[outcome.eventID] ?? GroupEnd(generation: outcome.generation)
    // A group that is forgotten begins anew.
    let mayBeNew = groupMayBeNew || groupEnds.values.contains { $0.isAcknowledged || $0.isOptional }
    let isTaken = groupEnds.contains {
      $0.key != outcome.eventID && $0.value.generation == outcome.generation
    }
    try require(
      mayBeNew || !isTaken,
      "the group settled twice in generation \(outcome.generation)")
    try require(!end.isAcknowledged, "the group's outcome comes after its acknowledgement")
    try require(
      end.deliveries < deliveries || hadFault, "delivery \(deliveries) of the group after \(end.deliveries)")
    end.deliveries = deliveries
    end.cameLast = isLast
    groupEnds[outcome.eventID] = end
  }

  // MARK: Rows

  mutating func check(_ rows: [Row]) throws {
    let found = Dictionary(uniqueKeysWithValues: rows.map { ($0.id.text, $0) })
    try require(found.count == rows.count, "a row comes twice")
    for (id, cell) in cells.sorted(by: { $0.key < $1.key }) {
      guard let row = found[id] else {
        try require(
          !cell.isThere || cell.mayBeGone || !cell.isSure, "the row of \(id) is lost, which was \(cell.line)")
        cells[id]?.isThere = false
        continue
      }
      try require(cell.isThere || !cell.isSure, "\(id) is \(row.state) though it was \(cell.line)")
      try check(row, cell)
    }
    for row in rows where cells[row.id.text] == nil {
      throw Broken(rule: "\(row.id) has a row and was never asked for")
    }
    restart = nil
  }

  private mutating func check(_ row: Row, _ before: Cell) throws {
    let id = row.id.text
    var cell = before
    if cell.isSure {
      try require(cell.wishes.contains { $0.key == row.key.text }, "\(id) has the key \(row.key)")
      if let restart {
        // An attempt in flight may not have been counted for good (D35); whatever was told was.
        let least = restart.forgets ? cell.told : cell.sent
        try require(
          row.attempts >= least, "\(id) has \(row.attempts) attempts after a start, and had \(least)")
        try checkStart(row, cell)
      } else {
        try require(row.state == cell.state, "\(id) is \(row.state) and was told \(cell.line)")
        try require(
          row.attempts == cell.sent, "\(id) has \(row.attempts) attempts and was sent \(cell.sent) times")
      }
    }
    let was = cell.state
    cell.sent = row.attempts
    cell.state = row.state
    cell.isThere = true
    if row.state == .awaitingAuth { cell.isParked = true }
    if let next = row.nextAttemptAt {
      let due = now.steady + next - now.wall
      try require(
        !cell.isSure || due + 1 >= cell.notBefore || hasOutage(cell, id) || isTimeShort(cell),
        "the wait of \(id) is shorter by \(cell.notBefore - due) ms in its row")
    }
    cells[id] = cell
    if row.state.isSettled, !(was?.isSettled ?? false) { end(row) }
  }

  /// What was told before the process ended holds after it.
  private func checkStart(_ row: Row, _ cell: Cell) throws {
    guard let was = cell.state, was != row.state else { return }
    let id = row.id.text
    try require(!was.isSettled, "\(id) was told \(was) and is \(row.state) after a start")
    if row.state == .completed {
      try require(cell.hasReply, "\(id) is completed after a start without an answer")
    }
    try require(row.state != .cancelled || cell.wasCancelled, "\(id) is cancelled after a start")
  }
}

extension Request {
  /// What has to be sent to this URL.
  func content(at url: String) -> [UInt8] {
    guard !partSizes.isEmpty, let index = Int(url.split(separator: "/").last ?? ""), index < partSizes.count
    else {
      return content
    }
    let start = partSizes[..<index].reduce(0, +)
    return Array(content[start..<(start + partSizes[index])])
  }
}
