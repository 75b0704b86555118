import QueueEngine
import QueueModel

/// Calls and their answers.
extension Checker {
  mutating func asked(_ number: Int, _ ask: Ask) {
    // The network is told of, and nobody answers.
    if case .network(let kind) = ask {
      gates.isWifi = nil
      networkTold = (number, isWifi: kind == 0)
      return
    }
    open[number] = ask
    switch ask {
    case .wifiOnly: gates.wifiOnly = nil
    case .cancelGroup: loosenGroup()
    case .enqueue, .cancel, .retry, .pause, .resume, .updateHeaders, .network, .subscribe, .acknowledge,
      .release, .rows, .diagnostics:
      break
    }
  }

  mutating func answered(_ number: Int, _ reaction: Reaction) throws {
    guard let ask = open.removeValue(forKey: number) else {
      throw Broken(rule: "call \(number) is answered twice")
    }
    try checkOrder(number, ask, reaction)
    if case .refused(let refusal) = reaction { return try refused(ask, refusal) }
    switch (ask, reaction) {
    case (.enqueue(let requests, _), .accepted(let answers)):
      try require(requests.count == answers.count, "\(requests.count) requests, \(answers.count) answers")
      for (request, answer) in zip(requests, answers) { try accept(request, answer) }
    case (.cancel(let id), _): cancelled(id)
    case (.cancelGroup, _): loosenGroup()
    case (.retry(let id), .row(let row)): try retried(id, row)
    case (.pause(let scope), _): gates.set(true, scope)
    case (.resume(let scope), _): gates.set(false, scope)
    case (.updateHeaders(let key, let origin, _), _):
      for (id, cell) in cells {
        let isCovered = cell.wishes.contains { wish in
          (key.map { $0 == wish.key } ?? true) && (origin.map { wish.url.hasPrefix("\($0)/") } ?? true)
        }
        if isCovered { cells[id]?.isParked = false }
      }
    case (.wifiOnly(let wifiOnly), _): gates.wifiOnly = wifiOnly
    case (.acknowledge(let ids), _): acknowledged(ids)
    case (.rows, .rows(let rows)):
      // What was told before has been taken in.
      if let told = networkTold, told.number < number {
        gates.isWifi = told.isWifi
        networkTold = nil
      }
      try check(rows)
    case (.diagnostics, .diagnostics(let all)):
      for text in all {
        try keepsSecrets(text, "a diagnostic")
        try require(!text.contains("damage"), "the database is damaged: \(text)")
      }
    case (.subscribe, _), (.release, _): break
    default: throw Broken(rule: "\(ask.line) is answered with \(reaction.line)")
    }
  }

  /// Requests about one id take effect in the order in which they came. A store that rests refuses at once,
  /// and what is refused so has no effect.
  private func checkOrder(_ number: Int, _ ask: Ask, _ reaction: Reaction) throws {
    if case .refused(.storage) = reaction { return }
    let ids = ask.ids
    guard !ids.isEmpty else { return }
    for (earlier, other) in open where earlier < number && !other.ids.isDisjoint(with: ids) {
      throw Broken(rule: "call \(number) is answered before call \(earlier) about the same id")
    }
  }

  private func refused(_ ask: Ask, _ refusal: Refusal) throws {
    switch refusal {
    case .storage(let message):
      try require(hadFault, "a sound disk is said to have failed: \(message)")
      try keepsSecrets(message, "a refusal")
    case .running:
      for id in ask.ids {
        guard let cell = cells[id], cell.isSure else { continue }
        try require(
          cell.state == .running || cell.state == .paused, "\(id) is refused as running and is \(cell.line)")
      }
    case .invalid(let input), .fileMissing(let input): try keepsSecrets(input.message, "a refusal")
    case .entry(_, let inner): try refusedInside(inner)
    case .shutdown: throw Broken(rule: "\(ask.line) is refused by an end that nobody asked for")
    }
  }

  private func refusedInside(_ refusal: Refusal) throws {
    if case .storage(let message) = refusal { try require(hadFault, "a sound disk failed: \(message)") }
  }

  private mutating func accept(_ request: Request, _ answer: EnqueueAnswer) throws {
    let id = request.id
    var cell = cells[id] ?? Cell()
    let was = cell
    let sure = cell.isSure
    switch answer.disposition {
    case .redelivered, .kept:
      try require(!sure || cell.state == .completed, "\(id) is \(answer.disposition) and was \(was.line)")
      return
    case .created:
      try require(!sure || !cell.isThere || cell.mayBeGone, "\(id) is made anew and was \(was.line)")
      try require(answer.generation == 1, "\(id) begins with generation \(answer.generation)")
      cell.life += 1
      cell.accepted = []
    case .replaced:
      try require(!sure || cell.isThere && cell.state != .running, "\(id) is replaced and was \(was.line)")
      cell.accepted = []
    case .reopened:
      try require(!sure || cell.state == .error, "\(id) is reopened and was \(was.line)")
    case .resumed:
      try require(!sure || cell.isLive, "\(id) is resumed and was \(was.line)")
    }
    let step: Int64 = answer.disposition == .resumed ? 0 : 1
    try require(
      !sure || answer.disposition == .created || answer.generation == cell.generation + step,
      "\(id) goes from generation \(cell.generation) to \(answer.generation) when \(answer.disposition)")
    let keepsPlace = cell.isLive && cell.wishes.last?.lane == request.lane
    if !sure && answer.disposition != .created {
      cell.lanePlace = nil
    } else if !keepsPlace || answer.disposition == .created {
      cell.lanePlace = nextLanePlace()
    }
    if answer.disposition != .resumed {
      cell.sent = 0
      cell.told = 0
    } else if !sure {
      cell.sent = answer.row.attempts
      // A call without an answer may have begun another generation.
      if answer.generation != cell.generation { cell.told = 0 }
    }
    cell.isThere = true
    cell.mayBeGone = false
    cell.isSure = true
    cell.wasCancelled = false
    cell.wishes = [request]
    cell.generation = answer.generation
    cell.state = answer.row.state
    cell.notBefore = 0
    cell.isParked = false
    cells[id] = cell
    if let source = request.source { givenAway.insert(source) }
    if answer.row.state.isSettled { end(answer.row) }
  }

  private mutating func nextLanePlace() -> Int {
    lanePlaces += 1
    return lanePlaces
  }

  /// What had settled is forgotten with its outcomes; what is live settles next.
  private mutating func cancelled(_ id: String) {
    guard let cell = cells[id], cell.isThere else { return }
    cells[id]?.wasCancelled = true
    if cell.isSure && cell.isLive { return }
    // A row that went with its acknowledged outcome leaves those of older generations to come.
    let isCertain = cell.isSure && !cell.mayBeGone
    for index in ends.indices where ends[index].id == id && ends[index].life == cell.life {
      if isCertain { ends[index].isForgotten = true } else { ends[index].isOptional = true }
    }
    if isCertain { cells[id]?.isThere = false } else { cells[id]?.mayBeGone = true }
  }

  private mutating func retried(_ id: String, _ row: Row) throws {
    guard var cell = cells[id] else { throw Broken(rule: "\(id) is retried and was never accepted") }
    let isReopened = cell.state == .error
    if cell.state == .error || !cell.isSure {
      cell.generation += cell.state == .error ? 1 : 0
      cell.sent = row.attempts
      cell.told = 0
      cell.lanePlace = cell.isSure ? nextLanePlace() : nil
    }
    // A deadline that has passed counts no more.
    cell.wishes = cell.wishes.map { $0.hasExpired(at: now.wall) ? $0.withoutDeadline : $0 }
    cell.notBefore = 0
    cell.isParked = false
    cell.state = row.state
    cell.mayBeGone = false
    cells[id] = cell
    if isReopened && row.state.isSettled { end(row) }
  }

  private mutating func acknowledged(_ ids: [String]) {
    for index in ends.indices where ends[index].eventID.map(ids.contains) == true {
      ends[index].isAcknowledged = true
      // That of an older generation leaves the row alone.
      let (id, generation, life) = (ends[index].id, ends[index].generation, ends[index].life)
      if cells[id]?.generation == generation && cells[id]?.life == life { cells[id]?.mayBeGone = true }
    }
    for id in ids { groupEnds[id]?.isAcknowledged = true }
    // Rows that were kept for a group go with its outcome.
    if ids.contains(where: { groupEnds[$0] != nil }) {
      for id in cells.keys where cells[id]?.wishes.contains(where: { $0.group != nil }) == true {
        let isDone = ends.last { $0.id == id }.map { $0.isAcknowledged || $0.isOptional } ?? false
        if isDone { cells[id]?.mayBeGone = true }
      }
    }
  }
}

extension Request {
  func hasExpired(at wall: Int64) -> Bool { expiresAt.map { $0 <= wall } ?? false }

  var withoutDeadline: Request {
    var request = self
    request.expiresAt = nil
    return request
  }
}

extension Ask {
  /// The ids whose order counts.
  var ids: Set<String> {
    switch self {
    case .enqueue(let requests, _): Set(requests.map(\.id))
    case .cancel(let id), .retry(let id): [id]
    case .cancelGroup, .pause, .resume, .updateHeaders, .network, .wifiOnly, .subscribe, .acknowledge,
      .release, .rows, .diagnostics:
      []
    }
  }
}

extension Checker.Cell {
  var line: String {
    let standing = isThere ? state?.rawValue ?? "unknown" : "not there"
    return "\(standing), generation \(generation)\(isSure ? "" : ", in doubt")"
  }
}
