package import JSONText

/// A non-2xx answer that counts as success.
package struct AcceptRule: Sendable, Equatable {
  package var status: Int
  /// Must occur in the kept body, byte for byte.
  package var bodyIncludes: String?

  package init(status: Int, bodyIncludes: String? = nil) {
    self.status = status
    self.bodyIncludes = bodyIncludes
  }
}

extension [AcceptRule] {
  /// Reads `[{status, bodyIncludes?}]`.
  package init(reading json: JSON, path: String) throws(InvalidInput) {
    self = []
    for (path, rule) in try json.array(at: path) {
      let object = try ObjectReader(rule, path: path, names: ["status", "bodyIncludes"])
      append(
        AcceptRule(
          status: Int(try object.requiredInteger("status", in: 100...599)),
          bodyIncludes: try object.nonEmptyString("bodyIncludes")))
    }
  }

  /// Writes what `init(reading:)` reads.
  package func write(into writer: inout JSONWriter) {
    writer.array { list in
      for rule in self {
        list.object {
          $0.member("status", rule.status)
          if let text = rule.bodyIncludes { $0.member("bodyIncludes", text) }
        }
      }
    }
  }
}

/// A status of 400 to 499 that is tried again up to `maxRetries` times (D17).
package struct TransientRule: Sendable, Equatable {
  package var status: Int
  package var bodyIncludes: String?
  /// 0 settles at the first match; nil is no cap.
  package var maxRetries: Int64?

  package init(status: Int, bodyIncludes: String? = nil, maxRetries: Int64? = nil) {
    self.status = status
    self.bodyIncludes = bodyIncludes
    self.maxRetries = maxRetries
  }

  /// Refuses the statuses that have a meaning of their own.
  init(reading json: JSON, path: String) throws(InvalidInput) {
    let object = try ObjectReader(json, path: path, names: ["status", "bodyIncludes", "maxRetries"])
    status = Int(try object.requiredInteger("status", in: 400...499))
    guard ![401, 403, 408, 429].contains(status) else {
      throw InvalidInput(
        path: object.path(of: "status"),
        message:
          "must not be 401 or 403, which wait for credentials, nor 408 or 429, which are always tried again")
    }
    bodyIncludes = try object.nonEmptyString("bodyIncludes")
    maxRetries = try object.integer("maxRetries", in: 0...Bounds.integer)
  }

  func write(into writer: inout JSONWriter) {
    writer.object {
      $0.member("status", status)
      if let bodyIncludes { $0.member("bodyIncludes", bodyIncludes) }
      if let maxRetries { $0.member("maxRetries", maxRetries) }
    }
  }
}

/// How many answers one rule has excused, kept by what the rule matches and not by its place in the list.
package struct RuleCount: Sendable, Equatable {
  package var status: Int
  package var bodyIncludes: String?
  package var count: Int64

  package init(status: Int, bodyIncludes: String?, count: Int64) {
    self.status = status
    self.bodyIncludes = bodyIncludes
    self.count = count
  }
}
