import Glibc
import JSONText
import QueueEngine
import QueueModel

/// Holds a history against the rules. It knows what hosts asked for and were told, what the server saw, and
/// which files there are; of the product's insides it knows nothing.
struct Checker {
  var now = Moment(wall: 0, steady: 0)
  /// Calls without an answer.
  var open: [Int: Ask] = [:]
  var cells: [String: Cell] = [:]
  var flights: [String: Flight] = [:]
  /// What the journal has to hold, oldest first.
  var ends: [End] = []
  var groupEnds: [String: GroupEnd] = [:]
  /// A cancellation may have forgotten it, while outcomes of older generations are still to come.
  var groupMayBeNew = false
  var gates = Gates()
  /// The network that the call of this number told of, until it is certain that it counts.
  var networkTold: (number: Int, isWifi: Bool)?
  var lanePlaces = 0
  /// Between the start of a process and the first rows that it gave.
  var restart: Restart?
  var hadFault = false
  var hadFailedSync = false
  var hadDeath = false
  var sources: Set<String> = []
  var givenAway: Set<String> = []
  var isLast = false
  /// A process has started, and has not shown its clock yet.
  var isStarting = false
  var hasRebooted = false

  struct Restart {
    /// What was not synced may be gone: by a power cut, or, where a sync had failed, by a new start of the
    /// system.
    var forgets: Bool
  }

  /// nil where a call that nobody answered may have changed it.
  struct Gates {
    var queue: Bool? = false
    var keys: [String: Bool?] = [:]
    var group: Bool? = false
    var isWifi: Bool? = true
    var wifiOnly: Bool? = false
  }

  /// What is known of one id.
  struct Cell {
    var isThere = false
    /// The row may have gone: its outcome was acknowledged.
    var mayBeGone = false
    /// A call that nobody answered may have changed it.
    var isSure = true
    /// Of the request as it stands: one, or those that it may be.
    var wishes: [Request] = []
    var state: Row.State?
    var generation: Int64 = 0
    /// How often the id was made anew.
    var life = 0
    /// Requests of this generation that the server has seen.
    var sent: Int64 = 0
    /// Those of them whose end was told.
    var told: Int64 = 0
    /// Queue time before which nothing may be sent.
    var notBefore: Int64 = 0
    var isParked = false
    /// nil when it may have kept the one before.
    var lanePlace: Int?
    /// URLs of accepted parts.
    var accepted: Set<String> = []
    var wasCancelled = false
    var hasCompleted = false
    /// The server has said something of it that may not have been told yet.
    var hasReply = false
    /// The outcome of the generation is known by its state.
    var isLive: Bool { isThere && !(state?.isSettled ?? false) }
  }

  struct Flight {
    var id: String
    /// Life and generation of the id that it was sent for.
    var cycle: [Int64]
    var url: String
    var origin: Substring
    /// Queue time at which its bytes were last seen to go.
    var movedAt: Int64
    var isUp = true
    var reply: Step.Reply?
    /// Queue time; what comes of it may be told later, when the disk was in doubt.
    var endedAt: Int64 = 0
    var wasTold = false
  }

  /// The end of one settle cycle.
  struct End {
    var id: String
    var generation: Int64
    var life: Int
    var kind: Row.State
    var at: Int64
    var eventID: String?
    var deliveries: Int64 = 0
    var isAcknowledged = false
    /// Nobody may ask for it any more: acknowledged or forgotten by a call that was not answered, or with a
    /// group.
    var isOptional = false
    var isForgotten = false
    var cameLast = false
  }

  struct GroupEnd {
    var generation: Int64
    var deliveries: Int64 = 0
    var isAcknowledged = false
    var isOptional = false
    var cameLast = false
  }

  func require(_ holds: Bool, _ rule: @autoclosure () -> String) throws {
    if !holds { throw Broken(rule: rule()) }
  }

  var liveIDs: [String] { cells.filter { $0.value.isLive }.keys.sorted() }

  mutating func take(_ happening: Happening) throws {
    switch happening {
    case .time(let moment):
      try require(
        restart != nil || moment.steady >= now.steady, "queue time goes back to \(moment.steady)")
      if isStarting {
        isStarting = false
        // Of queue time no more passes over a restart than has passed.
        try require(
          moment.steady - now.steady <= moment.wall - now.wall,
          "queue time jumps by \(moment.steady - now.steady) ms over a restart")
      }
      now = moment
      hasRebooted = false
    case .asked(let number, let ask): asked(number, ask)
    case .answered(let number, let reaction): try answered(number, reaction)
    case .told(let host, let event): try told(host, event)
    case .step, .connected, .disconnected: break
    case .sent(let sight): try sent(sight)
    case .progressed(let requestID): flights[requestID]?.movedAt = now.steady
    case .stopped(let requestID): flights[requestID]?.isUp = false
    case .replied(let requestID, let reply, _):
      flights[requestID]?.isUp = false
      flights[requestID]?.reply = reply
      flights[requestID]?.endedAt = now.steady
      if let id = flights[requestID]?.id { cells[id]?.hasReply = true }
    case .diskFault(let fault):
      hadFault = true
      hadFailedSync = hadFailedSync || fault == .syncFails
    case .ended(let death): ended(death)
    case .started(let isSame):
      // A system that starts anew goes by the wall clock, which may have been set.
      hasRebooted = hasRebooted || !isSame
      isStarting = !hasRebooted
    case .quiet: try quiet()
    case .logged(let line): try keepsSecrets(line)
    case .wrote(let source): sources.insert(source)
    case .files(let files): try check(files)
    case .lastSubscription: isLast = true
    case .over: try over()
    }
  }

  func keepsSecrets(_ text: String, _ place: String) throws {
    var text = text
    let isIn = text.withUTF8 { Checker.hasSecret(UnsafeRawBufferPointer($0)) }
    try require(!isIn, "a secret stands in \(place): \(text)")
  }

  private func keepsSecrets(_ line: LogLine) throws {
    try keepsSecrets(line.message, "the log")
    for field in line.fields {
      switch field.value {
      case .text(let text): try keepsSecrets(text, "the log")
      case .json(let json):
        let isIn = json.text.withUnsafeBytes { Checker.hasSecret($0) }
        try require(!isIn, "a secret stands in the log: \(line.text)")
      case .number: break
      }
    }
  }

  private static func hasSecret(_ bytes: UnsafeRawBufferPointer) -> Bool {
    let word: StaticString = "secret-"
    var rest = bytes[...]
    while let at = rest.firstIndex(of: word.utf8Start.pointee) {
      rest = rest[at...]
      guard let start = rest.base.baseAddress, rest.count >= word.utf8CodeUnitCount else { return false }
      if memcmp(start + at, word.utf8Start, word.utf8CodeUnitCount) == 0 { return true }
      rest = rest.dropFirst()
    }
    return false
  }

  // MARK: Deaths

  private mutating func ended(_ death: Step.Death) {
    hadDeath = true
    let forgets = death == .powerCut || death == .reboot && hadFailedSync
    restart = Restart(forgets: forgets || restart?.forgets == true)
    for requestID in flights.keys { flights[requestID]?.isUp = false }
    for ask in open.values { doubt(ask) }
    open = [:]
    // What the machine is connected by is found anew.
    gates.isWifi = true
    networkTold = nil
    // Whatever was being decided when it died may stand without anybody having been told.
    for id in cells.keys where cells[id]?.isLive == true { cells[id]?.isParked = false }
  }

  /// The call may have been carried out, and nobody knows.
  private mutating func doubt(_ ask: Ask) {
    switch ask {
    case .enqueue(let requests, _):
      for request in requests {
        var cell = cells[request.id] ?? Cell()
        cell.isSure = false
        cell.wishes.append(request)
        cells[request.id] = cell
        if let source = request.source { givenAway.insert(source) }
      }
    case .cancel(let id):
      cells[id]?.isSure = false
      cells[id]?.wasCancelled = true
      for index in ends.indices where ends[index].id == id { ends[index].isOptional = true }
    case .retry(let id):
      cells[id]?.isSure = false
      // If it was carried out, a deadline that had passed counts no more.
      for wish in cells[id]?.wishes ?? [] where wish.hasExpired(at: now.wall) {
        cells[id]?.wishes.append(wish.withoutDeadline)
      }
    case .cancelGroup: loosenGroup()
    case .pause(let scope), .resume(let scope): gates.set(nil, scope)
    case .acknowledge(let ids):
      for index in ends.indices where ends[index].eventID.map(ids.contains) == true {
        ends[index].isOptional = true
        cells[ends[index].id]?.mayBeGone = true
      }
      for id in ids { groupEnds[id]?.isOptional = true }
    case .wifiOnly: gates.wifiOnly = nil
    case .updateHeaders: for id in cells.keys { cells[id]?.isParked = false }
    case .network, .subscribe, .release, .rows, .diagnostics: break
    }
  }

  mutating func loosenGroup() {
    groupMayBeNew = true
    for id in cells.keys where cells[id]?.wishes.contains(where: { $0.group != nil }) == true {
      cells[id]?.mayBeGone = true
      cells[id]?.wasCancelled = true
      cells[id]?.isSure = false
      for index in ends.indices where ends[index].id == id { ends[index].isOptional = true }
    }
    for id in groupEnds.keys { groupEnds[id]?.isOptional = true }
  }

  // MARK: Quiet

  private func quiet() throws {
    for (_, flight) in flights.sorted(by: { $0.key < $1.key }) where flight.isUp {
      guard let cell = cells[flight.id] else { continue }
      try require(!gates.pause(cell), "\(flight.id) is being sent though paused")
      try require(cell.isLive || !cell.isSure, "\(flight.id) is being sent though it has settled")
    }
  }

  // MARK: Files

  private func check(_ files: Files) throws {
    try require(files.foreign.count == 3, "a file that somebody else made is gone: \(files.foreign)")
    for source in sources where !files.sources.contains(source) {
      let isTheirs = ["file", "bigFile", "reference", "parts"].contains { source.hasSuffix("-\($0)") }
      try require(!isTheirs, "the caller's file \(source) is gone, which was copied or referred to")
      try require(givenAway.contains(source), "\(source) is gone, though nobody took it")
    }
    let owners = cells.values.count { cell in
      (cell.isThere || !cell.isSure) && cell.wishes.contains { $0.content.count > 65_536 }
    }
    try require(
      hadDeath || hadFault || files.bodies <= owners, "\(files.bodies) bodies are left for \(owners) entries")
  }

  // MARK: The end

  private func over() throws {
    for (id, cell) in cells.sorted(by: { $0.key < $1.key }) {
      try require(!cell.isLive, "\(id) of generation \(cell.generation) has no outcome at the end")
    }
    for end in ends where !end.isAcknowledged && !end.isOptional && !end.isForgotten {
      try require(
        end.cameLast, "the outcome of \(end.id), generation \(end.generation), \(end.kind), is lost")
    }
    for (eventID, end) in groupEnds.sorted(by: { $0.key < $1.key })
    where !end.isAcknowledged && !end.isOptional {
      try require(end.cameLast, "the group's outcome \(eventID) is lost")
    }
    try require(open.isEmpty, "calls were never answered: \(open.values.map(\.line))")
  }
}

extension Checker.Gates {
  mutating func set(_ value: Bool?, _ scope: Step.Scope) {
    switch scope {
    case .queue: queue = value
    case .group: group = value
    case .key(let key): keys["k\(key)"] = .some(value)
    }
  }

  /// Certainly paused, whichever of its wishes holds.
  func pause(_ cell: Checker.Cell) -> Bool {
    if queue == true { return true }
    return !cell.wishes.isEmpty
      && cell.wishes.allSatisfy { wish in
        (keys[wish.key] ?? false) == true || (wish.group != nil && group == true)
      }
  }
}
