package import JSONText

/// When a result is tried again, and after how long; complete, every layer applied.
package struct RetryPolicy: Sendable, Equatable {
  package var backoff = Backoff()
  /// Statuses of 400 to 499 that are tried again without a cap when no rule matched.
  package var exempt: [Int] = [404]
  /// The first rule that matches counts.
  package var transient: [TransientRule] = []

  package init() {}

  /// The policy with each field that `layer` names replaced as a whole.
  package func overlaid(with layer: RetryLayer?) -> RetryPolicy {
    guard let layer else { return self }
    var policy = self
    if let backoff = layer.backoff { policy.backoff = backoff }
    if let exempt = layer.exempt { policy.exempt = exempt }
    if let transient = layer.transient { policy.transient = transient }
    return policy
  }
}

/// The fields of a retry policy that one descriptor or `configure` names.
package struct RetryLayer: Sendable, Equatable {
  package var backoff: Backoff?
  package var exempt: [Int]?
  package var transient: [TransientRule]?

  package init() {}

  /// Reads `{backoff?, terminalHttp?: {exempt}, transient?}`; an object given has to be complete.
  package init(reading json: JSON, path: String) throws(InvalidInput) {
    let retry = try ObjectReader(json, path: path, names: ["backoff", "terminalHttp", "transient"])
    if let json = retry["backoff"] { backoff = try Backoff(reading: json, path: retry.path(of: "backoff")) }
    if let json = retry["terminalHttp"] {
      let terminal = try ObjectReader(json, path: retry.path(of: "terminalHttp"), names: ["exempt"])
      exempt = try Self.statuses(terminal.required("exempt"), path: terminal.path(of: "exempt"))
    }
    if let json = retry["transient"] {
      transient = try Self.rules(json, path: retry.path(of: "transient"))
    }
  }

  private static func statuses(_ json: JSON, path: String) throws(InvalidInput) -> [Int] {
    var statuses: [Int] = []
    for (path, status) in try json.array(at: path) {
      statuses.append(Int(try status.integer(at: path, in: 400...499)))
    }
    return statuses
  }

  private static func rules(_ json: JSON, path: String) throws(InvalidInput) -> [TransientRule] {
    var rules: [TransientRule] = []
    for (path, rule) in try json.array(at: path) {
      rules.append(try TransientRule(reading: rule, path: path))
    }
    return rules
  }

  /// Writes what `init(reading:)` reads.
  package func write(into writer: inout JSONWriter) {
    writer.object { retry in
      if let backoff { retry.member("backoff") { backoff.write(into: &$0) } }
      if let exempt {
        retry.member("terminalHttp") { terminal in
          terminal.object {
            $0.member("exempt") { list in list.array { for status in exempt { $0.value(status) } } }
          }
        }
      }
      if let transient {
        retry.member("transient") { list in list.array { for rule in transient { rule.write(into: &$0) } } }
      }
    }
  }
}

extension Backoff {
  init(reading json: JSON, path: String) throws(InvalidInput) {
    let object = try ObjectReader(json, path: path, names: ["baseMs", "maxMs", "jitter"])
    baseMs = try object.requiredInteger("baseMs", in: 1...Bounds.integer)
    maxMs = try object.requiredInteger("maxMs", in: 1...Bounds.integer)
    guard maxMs >= baseMs else {
      throw InvalidInput(path: object.path(of: "maxMs"), message: "must be at least baseMs")
    }
    guard let jitter = try object.required("jitter").double, (0...1).contains(jitter) else {
      throw InvalidInput(path: object.path(of: "jitter"), message: "must be a number from 0 to 1")
    }
    self.jitter = jitter
  }

  func write(into writer: inout JSONWriter) {
    writer.object {
      $0.member("baseMs", baseMs)
      $0.member("maxMs", maxMs)
      $0.member("jitter", jitter)
    }
  }
}
