import Disk
import JSONText
import QueueEngine
import QueueModel
import Synchronization

/// Everything of a history goes through here, in order: first to the checker, and where it is wanted into a
/// text. What a dead process says is heard by nobody.
final class Record: Sendable {
  private struct Content {
    var lines: [String] = []
    var pending: [Happening] = []
  }

  private let content = Mutex(Content())
  private let keepsText: Bool

  init(keepsText: Bool) { self.keepsText = keepsText }

  func add(_ happening: Happening) {
    content.withLock {
      $0.pending.append(happening)
      if keepsText { $0.lines.append(happening.line) }
    }
  }

  /// Of the process that may have died meanwhile.
  func hear(_ happening: Happening) {
    if disk_process_is_dead() == 0 { add(happening) }
  }

  func takePending() -> [Happening] {
    content.withLock { content in
      defer { content.pending = [] }
      return content.pending
    }
  }

  var lines: [String] { content.withLock { $0.lines } }
}

/// One far end of a connection.
final class SimulatedHost: Host {
  private let number: Int
  private let record: Record
  /// What it was told to do something about, in order.
  private let outcomes = Mutex([String]())

  init(_ number: Int, _ record: Record) {
    self.number = number
    self.record = record
  }

  func receive(_ event: HostEvent) {
    guard disk_process_is_dead() == 0 else { return }
    record.add(.told(host: number, event))
    switch event {
    case .settled(let outcome, _): outcomes.withLock { $0.append(outcome.eventID) }
    case .groupSettled(let outcome, _): outcomes.withLock { $0.append(outcome.eventID) }
    case .state, .progress, .attempt, .group, .resync: break
    }
  }

  var isBehind: Bool { false }

  func takeOutcomes() -> [String] {
    outcomes.withLock { outcomes in
      defer { outcomes = [] }
      return outcomes
    }
  }
}

/// Network and servers: keeps what it was told to send until the history says what comes of it.
final class SimulatedTransport: Transport {
  struct Running {
    var attempt: AttemptID
    var requestID: String
    var secret: String?
    var length: Int64
  }

  private struct Content {
    var running: [Running] = []
    var stopped: [Running] = []
    var reports: [(AttemptID, TransportReport)] = []
  }

  private let content = Mutex(Content())
  private let record: Record

  init(_ record: Record) { self.record = record }

  func start(_ transmission: Transmission) {
    guard disk_process_is_dead() == 0 else { return }
    let sight = Sight(transmission)
    let running = Running(
      attempt: transmission.attempt, requestID: sight.requestID,
      secret: transmission.headers["Authorization"], length: transmission.body.length)
    content.withLock { $0.running.append(running) }
    record.add(.sent(sight))
  }

  func stop(_ attempt: AttemptID) {
    guard disk_process_is_dead() == 0 else { return }
    let found: Running? = content.withLock { content in
      guard let index = content.running.firstIndex(where: { $0.attempt == attempt }) else { return nil }
      let found = content.running.remove(at: index)
      content.stopped.append(found)
      return found
    }
    if let found { record.add(.stopped(requestID: found.requestID)) }
  }

  func limit(_ bandwidth: Bandwidth) {}

  func configure(_ settings: ConnectionSettings) {}

  var running: [Running] { content.withLock { $0.running } }

  func takeReports() -> [(AttemptID, TransportReport)] {
    content.withLock { content in
      defer { content.reports = [] }
      return content.reports
    }
  }

  func forgetAll() { content.withLock { $0 = Content() } }

  func progress(_ pick: Int) {
    content.withLock {
      guard !$0.running.isEmpty else { return }
      let running = $0.running[pick % $0.running.count]
      $0.reports.append((running.attempt, .progress(bytesSent: running.length / 2)))
      record.add(.progressed(requestID: running.requestID))
    }
  }

  /// What comes of the request that runs, or ran until it was stopped.
  func finish(_ pick: Int, late: Bool = false, _ reply: (Running) -> (Step.Reply, AttemptResult)) {
    let finished: (Running, Step.Reply)? = content.withLock { content in
      let all = late ? content.stopped : content.running
      guard !all.isEmpty else { return nil }
      let running = all[pick % all.count]
      if late {
        content.stopped.remove(at: pick % all.count)
      } else {
        content.running.remove(at: pick % all.count)
      }
      let (kind, result) = reply(running)
      content.reports.append((running.attempt, .finished(result)))
      return (running, kind)
    }
    guard let finished else { return }
    record.add(.replied(requestID: finished.0.requestID, finished.1, wasStopped: late))
  }
}

extension Sight {
  init(_ transmission: Transmission) {
    self.init(
      requestID: transmission.headers["X-Request-Id"] ?? "", method: transmission.method.rawValue,
      url: transmission.url.text,
      headers: transmission.headers.fields.map { ($0.name, $0.value) },
      body: transmission.body.bytes)
  }
}

extension OutgoingBody {
  /// What goes over the wire; nil when it cannot be read.
  var bytes: [UInt8]? {
    switch self {
    case .none: []
    case .bytes(let bytes): bytes
    case .file(let path, let offset, let length): Folder.read(path, from: offset, Int(length))
    case .referenced(let pieces):
      pieces.reduce(Optional<[UInt8]>([])) { all, piece in
        let more: [UInt8]? =
          switch piece {
          case .bytes(let bytes): bytes
          case .file(let path, _, let range): Folder.read(path, from: range.lowerBound, range.count)
          }
        guard let all, let more else { return nil }
        return all + more
      }
    }
  }
}

/// Clocks that only the history moves. Queue time is boot time plus what the store says.
final class SimulatedClock: Clock {
  private struct Readings {
    var wall: Int64 = 1_800_000_000_000
    var boot: Int64 = 5_000_000
    var offset: Int64 = 0
  }

  private let readings = Mutex(Readings())

  func now() -> Moment { readings.withLock { Moment(wall: $0.wall, steady: $0.boot + $0.offset) } }

  func atBoot() -> Moment { readings.withLock { Moment(wall: $0.wall, steady: $0.boot) } }

  func setOffset(_ offset: Int64) { readings.withLock { $0.offset = offset } }

  func advance(_ milliseconds: Int64) {
    readings.withLock {
      $0.wall += milliseconds
      $0.boot += milliseconds
    }
  }

  func setWall(by milliseconds: Int64) { readings.withLock { $0.wall += milliseconds } }

  /// The system starts anew.
  func beginBoot() { readings.withLock { $0.boot = 3000 } }
}

/// Randomness of the product, from the seed.
final class SimulatedRandomness: Randomness {
  private let dice: Mutex<Dice>

  init(seed: UInt64) { dice = Mutex(Dice(seed: seed)) }

  func next() -> UInt64 { dice.withLock { $0.next() } }
}

/// Lines that the product logs, all levels, for the search for secrets.
struct SimulatedLog: Log {
  let record: Record

  var threshold: LogLevel { .debug }

  func write(_ line: LogLine) { record.hear(.logged(line)) }
}
