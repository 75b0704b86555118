package import JSONText

/// A request that can be sent as far as that can be known now. Made by validation alone
/// (`Descriptor(reading:)`), or read back from what validation had accepted (`Descriptor(stored:)`). It never
/// changes, and is handed about with its entry, which copies no more than a reference.
package final class Descriptor: Sendable {
  /// May be nil with `parts`, which have their own.
  package let url: RequestURL?
  package let method: HTTPMethod
  package let headers: HeaderFields
  package let body: BodyDescription
  package let accept: [AcceptRule]
  /// Wall clock, ms; nil takes `lifetimeMs` from configure.
  package let expiresAt: Int64?
  package let retry: RetryLayer?
  /// nil follows `setWifiOnly`.
  package let wifiOnly: Bool?
  package let priority: Priority
  package let timeouts: TimeoutLayer?
  package let idempotencyKey: IdempotencyKey
  package let staging: Staging
  /// The URL is a value as a whole, whose origin its entry does not know before (D46).
  package let boundOrigin: Bool

  package enum Priority: String, Sendable, CaseIterable {
    case high, normal
  }

  /// How a source file comes into the queue (D28).
  package enum Staging: String, Sendable, CaseIterable {
    case copy, move, reference
  }

  /// `Idempotency-Key` on POST and PATCH (D19).
  package enum IdempotencyKey: Sendable, Equatable {
    /// A new key that stays while the body stays.
    case automatic
    case off
    case given(String)
  }

  fileprivate static let names = [
    "url", "method", "headers", "data", "form", "file", "parts", "accept", "expiresAt", "retry", "wifiOnly",
    "priority", "timeouts", "idempotencyKey", "staging", "boundOrigin",
  ]

  /// Reads what a host sent. A null is a body in `data`, is refused in `wifiOnly`, and counts as absent
  /// elsewhere (B9, B46, B117).
  ///
  /// - Throws: The first thing that is wrong, by its path from the params on.
  package init(reading json: JSON, path: String = "request") throws(InvalidInput) {
    let reader = try DescriptorReader(json, path: path, names: Self.names)
    method = try reader.method()
    body = try reader.body(of: method)
    url = try reader.url(isRequired: body.kind != .parts)
    headers = try reader.headers()
    accept = try reader.accept()
    expiresAt = try reader.object.integer("expiresAt", in: 1...Bounds.integer)
    retry = try reader.retry()
    wifiOnly = try reader.object.bool("wifiOnly")
    priority = try reader.object.choice("priority") ?? .normal
    timeouts = try reader.timeouts()
    idempotencyKey = try reader.idempotencyKey()
    staging = try reader.staging() ?? (body.kind == .parts ? .move : .copy)
    boundOrigin = try reader.boundOrigin(of: body.kind)
  }

  /// Reads back what `storedText` gave.
  ///
  /// - Parameter kind: Of the body; the value of a `data` body is kept elsewhere, and null stands in its
  ///   place; so are the requests of `parts`, in whose place stands an empty list.
  package init(stored json: JSON, kind: BodyKind) throws(InvalidInput) {
    let reader = try DescriptorReader(json, path: "stored", names: Self.names)
    method = try reader.method()
    switch (kind, try reader.body(of: method)) {
    case (.data, .none): body = .data(.null)
    case (.parts, .file(let path)): body = .parts(path, [])
    case (_, let described):
      guard described.kind == kind else {
        throw InvalidInput(path: "stored", message: "must describe a body of kind \(kind.rawValue)")
      }
      body = described
    }
    url = try reader.url(isRequired: kind != .parts)
    headers = reader.object["headers"].map { HeaderFields(stored: $0) } ?? HeaderFields()
    accept = try reader.accept()
    expiresAt = try reader.object.integer("expiresAt", in: 1...Bounds.integer)
    retry = try reader.retry()
    wifiOnly = try reader.object.bool("wifiOnly")
    priority = try reader.object.choice("priority") ?? .normal
    timeouts = try reader.timeouts()
    idempotencyKey = try reader.idempotencyKey()
    staging = try reader.staging() ?? .copy
    boundOrigin = try reader.boundOrigin(of: kind)
  }

  /// The JSON text of everything but the value of `data` and the requests of `parts`; `init(stored:)` is its
  /// exact inverse.
  package var storedText: [UInt8] {
    var writer = JSONWriter()
    writer.object { object in
      if let url { object.member("url", url.text) }
      object.member("method", method.rawValue)
      if !headers.fields.isEmpty { object.member("headers") { headers.write(into: &$0) } }
      switch body {
      case .none, .data: break
      case .file(let path), .parts(let path, _): object.member("file", path.text)
      case .form(let fields):
        object.member("form") { list in list.array { for field in fields { field.write(into: &$0) } } }
      }
      if !accept.isEmpty { object.member("accept") { accept.write(into: &$0) } }
      if let expiresAt { object.member("expiresAt", expiresAt) }
      if let retry { object.member("retry") { retry.write(into: &$0) } }
      if let wifiOnly { object.member("wifiOnly", wifiOnly) }
      if priority != .normal { object.member("priority", priority.rawValue) }
      if let timeouts { object.member("timeouts") { timeouts.write(into: &$0) } }
      switch idempotencyKey {
      case .automatic: break
      case .off: object.member("idempotencyKey", false)
      case .given(let key): object.member("idempotencyKey", key)
      }
      if staging != .copy { object.member("staging", staging.rawValue) }
      if boundOrigin { object.member("boundOrigin", true) }
    }
    return writer.bytes
  }

  private init(
    _ other: Descriptor, url: RequestURL?, headers: HeaderFields, body: BodyDescription
  ) {
    self.url = url
    method = other.method
    self.headers = headers
    self.body = body
    accept = other.accept
    expiresAt = other.expiresAt
    retry = other.retry
    wifiOnly = other.wifiOnly
    priority = other.priority
    timeouts = other.timeouts
    idempotencyKey = other.idempotencyKey
    staging = other.staging
    boundOrigin = other.boundOrigin
  }

  /// The same request with values in the place of their names.
  func with(url: RequestURL?, headers: HeaderFields) -> Descriptor {
    Descriptor(self, url: url, headers: headers, body: body)
  }

  /// The request as it was enqueued, where it was read without the requests of its parts.
  package func with(parts: [PartRequest]) -> Descriptor {
    guard case .parts(let path, _) = body else { return self }
    return Descriptor(self, url: url, headers: headers, body: .parts(path, parts))
  }
}

/// The methods that a request may have.
package enum HTTPMethod: String, Sendable, CaseIterable {
  case post = "POST"
  case put = "PUT"
  case patch = "PATCH"
  case delete = "DELETE"
  case get = "GET"
}
