package import JSONText

/// Lines for whoever looks after the process. A line never holds a secret (D38): the host's own ids and keys,
/// origins and statuses, never a header value, the rest of a URL, or a byte of a body.
package protocol Log: Sendable {
  /// Lines of this level and of graver ones are wanted.
  var threshold: LogLevel { get }

  /// Takes the line without waiting, from any thread.
  func write(_ line: LogLine)
}

extension Log {
  /// Makes the line only when it is wanted.
  package func write(
    _ level: LogLevel, _ message: @autoclosure () -> String, _ fields: @autoclosure () -> [LogLine.Field] = []
  ) {
    guard wants(level) else { return }
    write(LogLine(level, message(), fields()))
  }

  package func wants(_ level: LogLevel) -> Bool { level <= threshold }
}

/// The gravest first, by the names of `--log-level`.
package enum LogLevel: String, Sendable, CaseIterable, Comparable {
  case error, warn, info, debug

  package static func < (one: LogLevel, other: LogLevel) -> Bool { one.rank < other.rank }

  private var rank: Int {
    switch self {
    case .error: 0
    case .warn: 1
    case .info: 2
    case .debug: 3
    }
  }
}

package struct LogLine: Sendable {
  package var level: LogLevel
  /// Always the same words for the same thing; what differs stands in the fields.
  package var message: String
  package var fields: [Field]

  package init(_ level: LogLevel, _ message: String, _ fields: [Field] = []) {
    self.level = level
    self.message = message
    self.fields = fields
  }

  package struct Field: Sendable {
    package var name: String
    package var value: Value

    package init(_ name: String, _ text: String) {
      self.name = name
      value = .text(text)
    }

    package init(_ name: String, _ number: Int64) {
      self.name = name
      value = .number(number)
    }

    package init(_ name: String, _ json: JSON) {
      self.name = name
      value = .json(json)
    }
  }

  package enum Value: Sendable {
    case text(String)
    case number(Int64)
    case json(JSON)
  }
}

/// Wants nothing.
package struct SilentLog: Log {
  package init() {}

  package var threshold: LogLevel { .error }

  package func write(_ line: LogLine) {}
}

extension LogLine {
  package init(_ diagnostic: Diagnostic) {
    let level: LogLevel =
      switch diagnostic.level {
      case .info: .info
      case .warn: .warn
      case .error: .error
      }
    self.init(level, diagnostic.message)
    if let error = diagnostic.error { fields.append(Field("error", error)) }
    if let figures = diagnostic.figures { fields.append(Field("data", figures)) }
  }

  /// - Parameter origin: Where the attempt went; of its URL nothing else is told.
  package init(_ event: AttemptEvent, origin: Origin?) {
    self.init(.info, "attempt completed", [Field("id", event.id.text), Field("key", event.key.text)])
    fields.append(Field("attempt", event.attempt))
    if let partIndex = event.partIndex { fields.append(Field("part", Int64(partIndex))) }
    if let origin { fields.append(Field("origin", origin.text)) }
    if let answer = event.answer { fields.append(Field("status", Int64(answer.status))) }
    if case .error(let kind, let reason) = event.result {
      message = "attempt failed"
      fields += [Field("error", kind.rawValue), Field("reason", reason)]
    }
    fields.append(Field("requestId", event.requestID))
  }

  /// - Parameter disposition: By wire name.
  package init(enqueued entry: Entry, as disposition: String) {
    self.init(.debug, "enqueued", [Field("id", entry.id.text), Field("key", entry.key.text)])
    fields += [Field("disposition", disposition), Field("bytes", entry.body.length)]
  }

  package init(begins transmission: Transmission, of entry: Entry) {
    self.init(.debug, "attempt begins", [Field("id", entry.id.text)])
    fields.append(Field("attempt", transmission.attempt.ordinal))
    fields.append(Field("origin", transmission.url.origin.text))
  }

  package init(_ outcome: Outcome) {
    self.init(.info, "settled", [Field("id", outcome.id.text), Field("key", outcome.key.text)])
    fields += [Field("state", outcome.settlement.kind.rawValue), Field("attempts", outcome.attempts)]
    if outcome.generation > 1 { fields.append(Field("generation", outcome.generation)) }
    if let partIndex = outcome.partIndex { fields.append(Field("part", Int64(partIndex))) }
    if case .error(let kind, let reason, _) = outcome.settlement {
      fields += [Field("error", kind.rawValue), Field("reason", reason)]
    }
  }
}
