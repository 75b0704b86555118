import Foundation
import JSONText
import QueueModel
import Testing

@testable import QueueStore

/// A directory of its own for one test, removed afterwards.
final class TemporaryDirectory {
  let path: String

  init(in parent: String = NSTemporaryDirectory()) throws {
    path = URL(fileURLWithPath: parent).resolvingSymlinksInPath().path + "/outtray-store-" + UUID().uuidString
    try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
  }

  deinit { try? FileManager.default.removeItem(atPath: path) }

  /// The queue's directory; not made yet.
  var queue: String { "\(path)/queue" }

  /// Writes a file beside the queue's directory. Its path.
  func write(_ bytes: some Sequence<UInt8>, to name: String) throws -> String {
    let file = "\(path)/\(name)"
    try Data(bytes).write(to: URL(fileURLWithPath: file))
    return file
  }

  /// What a process that dies now leaves behind: a copy of the files, without the memory shared by processes.
  func copyOfQueue() throws -> String {
    let copy = "\(path)/copy-" + UUID().uuidString
    try FileManager.default.copyItem(atPath: queue, toPath: copy)
    try? FileManager.default.removeItem(atPath: "\(copy)/queue.db-shm")
    return copy
  }
}

/// Names of the entries of a directory; empty when it is missing.
func names(in directory: String) -> [String] {
  ((try? FileManager.default.contentsOfDirectory(atPath: directory)) ?? []).sorted()
}

/// The files of bodies of the open database.
func bodyFiles(of queue: String) -> [String] {
  names(in: queue).filter { $0.hasPrefix("bodies-") }.flatMap { names(in: "\(queue)/\($0)") }
}

func bytes(of file: String) throws -> [UInt8] {
  [UInt8](try Data(contentsOf: URL(fileURLWithPath: file)))
}

/// Permission bits.
func mode(of path: String) throws -> Int {
  let attributes = try FileManager.default.attributesOfItem(atPath: path)
  return try #require(attributes[.posixPermissions] as? Int)
}

/// SplitMix64: the same bits for the same seed.
final class SeededRandomness: Randomness, RandomNumberGenerator, @unchecked Sendable {
  private var state: UInt64

  init(_ seed: UInt64) { state = seed }

  func next() -> UInt64 {
    state &+= 0x9E37_79B9_7F4A_7C15
    var bits = state
    bits = (bits ^ (bits >> 30)) &* 0xBF58_476D_1CE4_E5B9
    bits = (bits ^ (bits >> 27)) &* 0x94D0_49BB_1331_11EB
    return bits ^ (bits >> 31)
  }
}

let start = Moment(wall: 1_700_000_000_000, steady: 1_000_000)

func openStore(_ directory: String, now: Moment = start, bootID: String? = nil) throws -> QueueStore {
  try QueueStore(directory: directory, now: now, bootID: bootID)
}

func json(_ text: String) throws -> JSON { try JSON(checking: Array(text.utf8)) }

func descriptor(
  url: String = "https://a.example/upload", priority: String? = nil, wifiOnly: Bool? = nil, more: String = ""
) throws -> Descriptor {
  var text = "{\"url\":\"\(url)\",\"method\":\"POST\""
  if let priority { text += ",\"priority\":\"\(priority)\"" }
  if let wifiOnly { text += ",\"wifiOnly\":\(wifiOnly)" }
  return try Descriptor(reading: json(text + more + "}"), path: "request")
}

/// A queued entry without a body, due at 0, unless the arguments say otherwise.
func entry(
  _ number: Int64, id: String? = nil, key: String = "k", vars: String = "{}", request: Descriptor? = nil,
  body: StagedBody = .none, headerRevision: Int64 = 0, expiresAt: Int64 = 2_000_000_000_000,
  state: Entry.State = .queued(Entry.Wait(due: 0)), group: String? = nil, weight: Double? = nil
) throws -> Entry {
  Entry(
    number: number, id: EntryID(id ?? "e\(number)"), key: EntryKey(key), vars: try json(vars), generation: 1,
    request: try request ?? descriptor(), body: body, idempotencyKey: nil, headerRevision: headerRevision,
    expiresAt: expiresAt, state: state, createdAt: start.wall, updatedAt: start.wall,
    group: group.map { EntryGroup($0) }, weight: weight)
}

func outcome(_ eventID: String, of entry: Entry) -> Outcome {
  Outcome(
    eventID: eventID, entry: entry.number, id: entry.id, key: entry.key, vars: entry.vars, at: start.wall,
    generation: entry.generation, attempts: 1, requestID: "r", bytesSent: 0, totalBytes: 0,
    url: "https://a.example/upload", method: .post, partIndex: nil, settlement: .cancelled(reason: "user"))
}

/// Every column of an entry that a host or a rule can see, as text.
func picture(_ entry: Entry?) -> String {
  guard let entry else { return "absent" }
  return """
    \(entry.number) \(Array(entry.id.text.utf8)) \(Array(entry.key.text.utf8)) \(entry.vars)
    \(entry.generation)
    \(String(decoding: entry.request.storedText, as: UTF8.self)) \(entry.body) \(entry.idempotencyKey ?? "-")
    \(entry.headerRevision) \(entry.expiresAt) \(entry.state) \(entry.attempts) \(entry.failures)
    \(entry.lane?.text ?? "-") \(entry.expansion.map { "\($0)" } ?? "-")
    \(entry.bytesSent) \(entry.lastRequestID ?? "-") \(entry.createdAt) \(entry.updatedAt)
    \(entry.group?.text ?? "-") \(entry.weight ?? 0) \(entry.deadlineMs ?? 0) \(entry.firstAttemptAt ?? 0)
    \(String(describing: entry.kept))
    """
}

/// SQL beside the store, as a person with a shell would do it.
func withDatabase<Value>(
  of directory: String, _ work: (Connection) throws -> Value
) throws -> Value {
  try work(try Connection(path: Array("\(directory)/queue.db".utf8), .readWrite))
}

extension Writer {
  func append(_ outcome: Outcome) throws -> Int64 { try append(.entry(outcome)).number }
}

extension JournaledOutcome {
  /// Of an entry.
  var outcome: Outcome {
    guard case .entry(let outcome) = record else { preconditionFailure("the outcome of a group") }
    return outcome
  }
}
