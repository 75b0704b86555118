import QueueModel

/// What the engine remembers between turns beside the store: bounded by connections, slots and settings,
/// never by the length of the queue. A turn works on a copy, which replaces this one when its commit has
/// succeeded.
struct EngineState {
  var gates: Gates
  var configuration: Configuration
  var slots: Slots
  var flights: [AttemptID: Flight] = [:]
  /// By creation number: what entries that are in flight, or between two of their parts, have sent.
  var sendings: [Int64: Sending] = [:]
  var connections: [HostID: ConnectionState] = [:]
  /// Groups of which members are to be set apart, since they are paused, or to be put back (D1).
  var unsorted: Set<EntryGroup> = []
  /// Buckets that hold members of those, which are paused.
  var splitting: Set<Int64> = []
  /// Calls that cancel groups; the first of them goes on.
  var groupCancels: [GroupCancel] = []
  /// Groups that were told of a short time ago, or are to be told of.
  var groupsTold: [EntryGroup: GroupThrottle] = [:]
  /// Groups with numbers above this are still to be told of a gate that has moved.
  var groupWalk: Int64?
  /// Settled groups may have rows that are to go.
  var mayHaveKept = true
  /// Connections in the order in which they subscribed; the newest last.
  var subscribers: [HostID] = []
  /// Enqueues that wait for workers, by their numbers.
  var stagings: [UInt64: PendingEnqueue] = [:]
  /// Later commands about the same ids.
  var lines = Lines()
  /// Overrides of the network's kind, newest last; each lasts as long as its connection (D34).
  var networkOverrides: [(host: HostID, network: Network)] = []
  /// What the machine is connected by, when no host says otherwise (D34).
  var detectedNetwork = Network()
  /// For origins with attempts in flight: when the newest attempt began that reached it (D16).
  var reached: [Origin: Int64] = [:]
  var counters = Counters()
  /// Queue time up to which due work was looked for, ms. A commit takes time, so what became due during it
  /// was not seen.
  var lookedAt: Int64 = 0
  /// The last turn stopped at its limit, so that more may be due.
  var hasDueLeft = false
  /// It stopped at its limit of outcomes to look at, for some connection that has room.
  var hasOutcomesLeft = false
  /// The ends of entries mean something for others that is not carried out yet. A start looks.
  var hasConsequencesLeft = true
  var isFinishing = false
  /// The record of the start is complete.
  var isSwept = false
  /// Requests that wait for that record.
  var waitingForSweep: [Command] = []

  init(gates: Gates, configuration: Configuration) {
    self.gates = gates
    self.configuration = configuration
    slots = Slots(configuration.concurrency)
  }

  /// True while a connection holds the outcome, neither acknowledged nor released.
  func isHeld(_ eventID: String) -> Bool {
    connections.values.contains { $0.held[eventID] != nil }
  }

  /// No connection holds the outcome any more, but this one.
  mutating func letGo(_ eventID: String, but id: HostID? = nil) {
    for other in connections.keys where other != id { connections[other]?.letGo(eventID) }
  }

  /// The entry with what its attempts have sent so far, which only memory knows.
  func shown(_ entry: Entry) -> Entry {
    guard entry.isInFlight, let sending = sendings[entry.number] else { return entry }
    var entry = entry
    entry.bytesSent = sending.bytesSent
    return entry
  }

  /// Who is to have the outcome of this number: the connection that enqueued it, else the newest
  /// subscription, of those that cover its key and have not released it.
  func recipient(of number: Int64, _ record: Record) -> HostID? {
    func takes(_ host: HostID) -> Bool {
      guard let connection = connections[host], let subscription = connection.subscription else {
        return false
      }
      return subscription.wants(record) && subscription.covers(record.key)
        && !connection.released.contains(number)
    }
    if let host = record.host, takes(host) { return host }
    return subscribers.last(where: takes)
  }

  /// Outcomes from `number` on may be anybody's but this connection's now, so the others look again.
  mutating func lookAgain(from number: Int64, but id: HostID) {
    for other in subscribers where other != id {
      let cursor = connections[other]?.cursor ?? 0
      connections[other]?.cursor = min(cursor, number - 1)
      connections[other]?.mayHaveMore = true
    }
  }

  /// The outcome was released by this connection, so the others look at it again.
  mutating func offer(_ number: Int64, but id: HostID) {
    for other in subscribers where other != id { connections[other]?.lookAgain(at: number) }
  }
}

/// An attempt that the transport has.
struct Flight {
  var id: EntryID
  var key: EntryKey
  var group: EntryGroup?
  var origin: Origin
  var priority: Descriptor.Priority
  /// As its origin sees it.
  var load: OriginLoad.Attempt
  /// Queue time of its begin or of the last byte that is known to have left, ms.
  var movedAt: Int64
  /// It has not moved for `Slots.quietAfterMs`.
  var isQuiet = false
  /// Body bytes that have left so far.
  var bytesSent: Int64 = 0

  /// Queue time, ms, at which it falls quiet if nothing moves until then.
  var quietAt: Int64 { movedAt + Slots.quietAfterMs }
}

/// What an entry has sent, as its host sees it: accepted parts and whatever is in flight.
struct Sending {
  var id: EntryID
  var key: EntryKey
  var group: EntryGroup?
  /// In the progress of the group.
  var weight: Double
  var totalBytes: Int64
  /// What the store has of `bytesSent`.
  var storedBytes: Int64
  /// Of parts that are accepted.
  var acceptedBytes: Int64
  var bytesInFlight: Int64 = 0
  var throttle = ProgressThrottle()

  var bytesSent: Int64 { min(acceptedBytes + bytesInFlight, totalBytes) }
}

/// One connection as the engine knows it.
struct ConnectionState {
  let host: any Host
  var subscription: Subscription?
  /// Journal number up to which outcomes were looked at for this connection.
  var cursor: Int64 = 0
  /// Numbers before the cursor to look at once more.
  var again: Set<Int64> = []
  /// False when the journal holds nothing more for it.
  var mayHaveMore = false
  /// Outcomes that are out, by event id.
  var held: [String: HeldOutcome] = [:]
  var heldBytes = 0
  /// Numbers of outcomes that it released since it subscribed.
  var released: Set<Int64> = []
  var walk = StateWalk()

  struct HeldOutcome {
    var number: Int64
    var bytes: Int
  }

  /// Room in the window: outcomes and bytes (protocol: at most 4 MiB, but at least one).
  var windowRoom: (outcomes: Int, bytes: Int) {
    guard let subscription else { return (0, 0) }
    if held.isEmpty { return (subscription.window, ConnectionState.windowBytes) }
    return (subscription.window - held.count, ConnectionState.windowBytes - heldBytes)
  }

  var hasRoom: Bool { windowRoom.outcomes > 0 && windowRoom.bytes > 0 }

  mutating func lookAgain(at number: Int64) {
    mayHaveMore = true
    guard number <= cursor else { return }
    again.insert(number)
    guard again.count > ConnectionState.againLimit, let oldest = again.min() else { return }
    cursor = oldest - 1
    again = []
  }

  mutating func hold(_ eventID: String, _ outcome: HeldOutcome) {
    if held.updateValue(outcome, forKey: eventID) == nil { heldBytes += outcome.bytes }
  }

  mutating func letGo(_ eventID: String) {
    guard let outcome = held.removeValue(forKey: eventID) else { return }
    heldBytes -= outcome.bytes
    mayHaveMore = true
  }

  static let windowBytes = 4 << 20
  /// Beyond it looking through the journal costs less memory.
  static let againLimit = 1024
}

/// Counted since the start of the process.
struct Counters {
  var attemptsStarted: Int64 = 0
  var attemptsCompleted: Int64 = 0
  var attemptsFailed: Int64 = 0
  var bytesSent: Int64 = 0
  var bytesReceived: Int64 = 0
  var commits: Int64 = 0
}

/// At most one progress event for an entry and interval; the newest value waits for its turn.
struct ProgressThrottle {
  static let intervalMs: Int64 = 250

  private(set) var bytesSent: Int64 = 0
  /// A value that was not told yet.
  private(set) var isHeldBack = false
  private var toldAt: Int64?

  /// Queue time at which the value that is held back may be told.
  var due: Int64? {
    guard isHeldBack, let toldAt else { return nil }
    return toldAt + ProgressThrottle.intervalMs
  }

  /// Notes the value and says whether to tell it now.
  mutating func note(_ bytes: Int64, at steady: Int64) -> Bool {
    guard bytes != bytesSent else { return false }
    bytesSent = bytes
    if let toldAt, steady - toldAt < ProgressThrottle.intervalMs {
      isHeldBack = true
      return false
    }
    told(at: steady)
    return true
  }

  /// Notes that the newest value was told.
  mutating func told(at steady: Int64) {
    toldAt = steady
    isHeldBack = false
  }
}
