import Glibc
import JSONRPC
package import JSONText
package import OuttrayProtocol

/// A connection to the engine of a queue, by the wire's own methods and events: to the process that serves
/// the queue, or to one inside this process that holds it for a change. Used by one thread.
package final class LiveQueue {
  package enum Event {
    case told(name: String, params: JSON)
    /// The far end is gone; nothing comes any more.
    case ended
  }

  /// Readable when something has come.
  package let descriptor: Int32
  private var frames = FrameReader(maxLine: Int(Int32.max))
  private var answers: [Int64: JSON] = [:]
  private var events: [Event] = []
  private var lastID: Int64 = 0
  private var isOver = false

  /// Takes a greeted connection.
  package init(_ descriptor: Int32) { self.descriptor = descriptor }

  deinit { close(descriptor) }

  // MARK: Out

  /// Calls a method and gives its result; throws what refuses it.
  ///
  /// - Parameter patience: ms to wait for the answer; nil waits as long as it takes.
  @discardableResult
  package func call(
    _ method: String, patience: Int64? = nil, _ params: (inout JSONWriter) -> Void = { _ in }
  ) throws(Failure) -> JSON {
    let id = try post(method, params)
    let deadline = patience.map { LiveQueue.now() + $0 }
    while answers[id] == nil {
      guard !isOver else { throw LiveQueue.gone }
      let wait = deadline.map { max(0, $0 - LiveQueue.now()) }
      if wait == 0 {
        throw Failure(Status.temporaryFailure, "the process that serves the queue does not answer")
      }
      readMore(within: wait)
    }
    let answer = answers.removeValue(forKey: id) ?? .null
    return try LiveQueue.result(of: answer, to: method)
  }

  /// Calls a method without waiting: its answer comes out of `takeAnswers`, under this number.
  package func post(
    _ method: String, _ params: (inout JSONWriter) -> Void = { _ in }
  ) throws(Failure) -> Int64 {
    lastID += 1
    var line = JSONWriter()
    line.object {
      $0.member("jsonrpc", "2.0")
      $0.member("id", lastID)
      $0.member("method", method)
      $0.member("params") { $0.object(params) }
    }
    guard write(line.bytes + [0x0A]) else { throw LiveQueue.gone }
    return lastID
  }

  /// The answers that have come and that no `call` waits for.
  package func takeAnswers() -> [Int64: JSON] {
    defer { answers = [:] }
    return answers
  }

  /// The result in an answer; throws what refuses it.
  package static func result(of answer: JSON, to method: String) throws(Failure) -> JSON {
    if let error = answer["error"] { throw failure(error, of: method) }
    return answer["result"] ?? .null
  }

  @discardableResult
  package func call(
    _ method: Method, patience: Int64? = nil, _ params: (inout JSONWriter) -> Void = { _ in }
  ) throws(Failure) -> JSON {
    try call(method.rawValue, patience: patience, params)
  }

  /// Hears these events from now on, of all entries or of those of one key.
  func subscribe(to events: [EventName], key: String? = nil, patience: Int64? = nil) throws(Failure) {
    try call(.subscribe, patience: patience) { params in
      params.member("events", events.map(\.rawValue))
      if let key { params.member("keys", [key]) }
    }
  }

  /// The result of `explain` about the entry or group `name`, which `member` says; nil from one that has
  /// ended, or is stuck, since that is no better than none.
  ///
  /// - Parameter nobody: Thrown when nothing has that name.
  func explain(_ member: String, _ name: String, orThrow nobody: Failure) throws(Failure) -> JSON? {
    do throws(Failure) {
      return try call(.explain, patience: LiveQueue.patience) { $0.member(member, name) }
    } catch {
      if error.code == .invalid { throw nobody }
      return nil
    }
  }

  /// ms: one that is stuck does not keep people from looking.
  static let patience: Int64 = 2000

  private func write(_ bytes: [UInt8]) -> Bool {
    var rest = bytes[...]
    while !rest.isEmpty {
      let count = rest.withUnsafeBytes { send(descriptor, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL)) }
      if count < 0 && errno == EINTR { continue }
      guard count > 0 else { return false }
      rest = rest.dropFirst(count)
    }
    return true
  }

  private static var gone: Failure {
    var failure = Failure(Status.temporaryFailure, "the process that serves the queue has ended meanwhile")
    failure.isPassing = true
    return failure
  }

  private static func failure(_ error: JSON, of method: String) -> Failure {
    let code = error["data"]?["code"]?.string.flatMap(ErrorCode.init(rawValue:))
    let message = error["message"]?.string ?? "\(method) was refused"
    var failure: Failure
    switch code {
    case .invalid, .fileMissing: failure = .usage(message)
    case .running, .storage: failure = Failure(Status.temporaryFailure, message)
    case .shutdown: failure = gone
    case .method:
      failure = Failure(
        Status.internalError, "the process that serves the queue is of a version without \(method)")
    default: failure = Failure(Status.internalError, message)
    }
    failure.code = code
    return failure
  }

  // MARK: In

  /// The next event; nil when none came within `wait` ms. Those that came beside an answer come first.
  package func next(within wait: Int64?) -> Event? {
    if events.isEmpty && isOver { return .ended }
    if events.isEmpty { readMore(within: wait) }
    return events.isEmpty ? nil : events.removeFirst()
  }

  /// Takes in what has come, after waiting for it; nil waits as long as it takes.
  private func readMore(within wait: Int64?) {
    var ready = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
    guard poll(&ready, 1, wait.map { Int32(clamping: $0) } ?? -1) > 0 else { return }
    let bytes = [UInt8](unsafeUninitializedCapacity: 64 << 10) { buffer, count in
      count = max(0, read(descriptor, buffer.baseAddress, buffer.count))
    }
    guard !bytes.isEmpty else {
      isOver = true
      return events.append(.ended)
    }
    frames.feed(bytes) { frame in
      guard case .line(let line) = frame, let json = try? JSON.scan(line).value else { return }
      if let name = json["method"]?.string {
        events.append(.told(name: name, params: json["params"] ?? .emptyObject))
      } else if let id = json["id"]?.integer {
        answers[id] = json
      }
    }
  }

  /// Boot clock, ms.
  static func now() -> Int64 {
    var time = timespec()
    clock_gettime(CLOCK_BOOTTIME, &time)
    return Int64(time.tv_sec) * 1000 + Int64(time.tv_nsec) / 1_000_000
  }
}

extension Surroundings {
  /// The process that serves the queue in `directory`, as a visitor; nil when none does. Its life is not
  /// changed by that.
  package func live(in directory: String, patience: Int64 = 1000) -> LiveQueue? {
    doors.attach(directory, patience).map(LiveQueue.init)
  }
}
