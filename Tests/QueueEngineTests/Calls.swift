import Foundation
import JSONText
import QueueEngine
import QueueModel
import QueueStore
import Synchronization
import Testing

/// A value that a reply fills.
final class Box<Value: Sendable>: Sendable {
  private let content: Mutex<Value>

  init(_ value: Value) { content = Mutex(value) }

  var value: Value {
    get { content.withLock { $0 } }
    set { content.withLock { $0 = newValue } }
  }
}

/// The replies to one call: exactly one has to come.
final class Replies<Value: Sendable>: Sendable {
  private let all = Mutex([Result<Value, Refusal>]())

  var completion: Completion<Value> { { result in self.all.withLock { $0.append(result) } } }

  var count: Int { all.withLock { $0.count } }

  func get() throws -> Value {
    try #require(count == 1, "one reply to one call")
    return try all.withLock { $0[0] }.get()
  }
}

enum Sample {
  static let url = "http://h.test/x"

  static func data(_ n: Int = 1, _ more: String = "") -> String {
    #"{"url":"\#(url)","data":{"n":\#(n)}\#(more.isEmpty ? "" : "," + more)}"#
  }

  static func file(_ path: String, _ more: String = "") -> String {
    #"{"url":"\#(url)","file":"\#(path)"\#(more.isEmpty ? "" : "," + more)}"#
  }

  /// - Parameter more: Members beside key and request, with a comma in front.
  static func enqueue(
    _ id: String, key: String = "k", vars: String = "null", _ request: String = data(), more: String = ""
  ) throws -> Enqueue {
    let text = #"{"key":"k","vars":\#(vars),"request":\#(request)\#(more)}"#
    var enqueue = try Enqueue(reading: JSON(checking: Array(text.utf8))) { EntryID(id) }
    enqueue.key = EntryKey(key)
    return enqueue
  }

  /// A member of `group`.
  static func member(_ id: String, of group: String = "g", _ n: Int = 1, _ more: String = "") throws
    -> Enqueue
  {
    try enqueue(id, data(n), more: #","group":"\#(group)"\#(more.isEmpty ? "" : "," + more)"#)
  }

  static func headers(_ json: String) throws -> HeaderFields {
    try HeaderFields(reading: JSON(checking: Array(json.utf8)), path: "headers")
  }
}

/// What a host asks for, each with its reply.
extension Harness {
  @discardableResult
  func enqueue(
    _ id: String = "a", key: String = "k", vars: String = "null", _ request: String = Sample.data(),
    from host: HostID? = nil
  ) throws -> EnqueueAnswer {
    let replies = try beginEnqueue(id, key: key, vars: vars, request, from: host)
    return try replies.get()
  }

  /// Without waiting for the reply.
  func beginEnqueue(
    _ id: String = "a", key: String = "k", vars: String = "null", _ request: String = Sample.data(),
    from enqueuer: HostID? = nil
  ) throws -> Replies<EnqueueAnswer> {
    let replies = Replies<EnqueueAnswer>()
    let host = host
    let completion = replies.completion
    send(
      .enqueue(try Sample.enqueue(id, key: key, vars: vars, request), from: enqueuer ?? hostID) {
        host.note(reply: id)
        completion($0)
      })
    return replies
  }

  func enqueueAll(_ enqueues: [Enqueue]) throws -> [EnqueueAnswer] {
    try beginEnqueueAll(enqueues).get()
  }

  /// Without waiting for the reply.
  func beginEnqueueAll(_ enqueues: [Enqueue]) -> Replies<[EnqueueAnswer]> {
    let replies = Replies<[EnqueueAnswer]>()
    let host = host
    let completion = replies.completion
    send(
      .enqueueAll(enqueues, from: hostID) {
        host.note(reply: "all")
        completion($0)
      })
    return replies
  }

  func call<Value>(_ command: (@escaping Completion<Value>) -> Command) throws -> Value {
    let replies = Replies<Value>()
    send(command(replies.completion))
    return try replies.get()
  }

  func cancel(_ id: String = "a") throws { try call { .cancel(EntryID(id), $0) } }

  @discardableResult
  func retry(_ id: String = "a") throws -> Row {
    let host = host
    return try call { completion in
      .retry(EntryID(id)) {
        host.note(reply: id)
        completion($0)
      }
    }
  }

  func pause(_ keys: String...) throws {
    try call { .pause(keys.isEmpty ? nil : PauseScope(keys: Set(keys.map { EntryKey($0) })), $0) }
  }

  func resume(_ keys: String...) throws {
    try call { .resume(keys.isEmpty ? nil : PauseScope(keys: Set(keys.map { EntryKey($0) })), $0) }
  }

  func pause(group: String) throws {
    try call { .pause(PauseScope(groups: [EntryGroup(group)]), $0) }
  }

  func resume(group: String) throws {
    try call { .resume(PauseScope(groups: [EntryGroup(group)]), $0) }
  }

  func cancel(group: String) throws { try call { .cancelGroup(EntryGroup(group), $0) } }

  func explain(group: String) throws -> GroupExplanation? {
    try call { .explainGroup(EntryGroup(group), $0) }
  }

  func patch(_ json: String, keys: [String]? = nil, origin: String? = nil) throws {
    let headers = try Sample.headers(json)
    try call {
      .updateHeaders(
        headers, keys: keys.map { Set($0.map { EntryKey($0) }) }, origin: origin.map { Origin(text: $0) }, $0)
    }
  }

  func configure(_ json: String) throws {
    let change = try ConfigurationChange(reading: JSON(checking: Array(json.utf8)))
    try call { .configure(change, from: hostID, $0) }
  }

  func subscribe(
    _ kinds: Set<Subscription.Kind> = Set(Subscription.Kind.allCases), window: Int = 64,
    keys: [String]? = nil,
    as id: HostID? = nil
  ) throws {
    let keys = keys.map { Set($0.map { EntryKey($0) }) }
    try call { .subscribe(Subscription(kinds: kinds, keys: keys, window: window), from: id ?? hostID, $0) }
  }

  func acknowledge(_ eventIDs: [String]) throws { try call { .acknowledge(eventIDs, from: hostID, $0) } }

  func release(_ eventIDs: [String]) throws { try call { .release(eventIDs, from: hostID, $0) } }

  func rows(_ query: RowQuery = RowQuery()) throws -> [Row] { try call { .rows(query, $0) }.rows }

  func row(_ id: String = "a") throws -> Row? { try rows(RowQuery(id: EntryID(id))).first }

  func state(_ id: String = "a") throws -> Row.State? { try row(id)?.state }

  func stats() throws -> Stats { try call { .stats($0) } }

  // MARK: What the far side does

  func attempt(index: Int = 0) throws -> AttemptID {
    try #require(transport.running.count > index)
    return transport.running[index].attempt
  }

  /// What comes of the attempt that runs, or of the one at `index` by creation number.
  func finish(_ result: AttemptResult, index: Int = 0) throws {
    transport.finish(try attempt(index: index), result)
    settle()
  }

  func answer(_ status: Int, body: String = "", headers: [(name: String, value: String)] = []) throws {
    try finish(.answer(status, body: body, headers: headers))
  }

  /// Names of what lies in the store's body folders.
  func bodyFiles() throws -> [String] {
    store.rest(idle: true)
    return try FileManager.default.subpathsOfDirectory(atPath: directory).filter { $0.contains("/") }
  }

  /// A source file outside the queue's directory, gone with the harness.
  func source(_ name: String = "source", _ text: String = "contents") throws -> String {
    try FileManager.default.createDirectory(atPath: sources, withIntermediateDirectories: true)
    let path = "\(sources)/\(name)"
    try text.write(toFile: path, atomically: true, encoding: .utf8)
    return path
  }
}
