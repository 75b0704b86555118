package import JSONText

/// What one `configure` call asks for: a member that is absent stays, null returns it to its default, one
/// that is given is replaced as a whole (D43).
package struct ConfigurationChange: Sendable {
  private enum Change<Value: Sendable>: Sendable {
    case stay, reset
    case set(Value)

    func applied(to old: Value, default initial: Value) -> Value {
      switch self {
      case .stay: old
      case .reset: initial
      case .set(let value): value
      }
    }
  }

  private var lifetimeMs = Change<Int64>.stay
  private var retry = Change<RetryPolicy>.stay
  private var concurrency = Change<Concurrency>.stay
  private var bandwidth = Change<Bandwidth>.stay
  private var timeouts = Change<Timeouts>.stay
  private var trust = Change<TrustSettings>.stay
  private var proxy = Change<String?>.stay
  private var http2 = Change<Bool>.stay

  /// Reads the params of `configure`.
  package init(reading params: JSON) throws(InvalidInput) {
    let object = try ObjectReader(
      params, path: "",
      names: ["lifetimeMs", "retry", "concurrency", "bandwidth", "timeouts", "tls", "proxy", "http2"])
    lifetimeMs = try Self.change(object, "lifetimeMs") { json, path throws(InvalidInput) in
      try json.integer(at: path, in: 1...Bounds.integer)
    }
    retry = try Self.change(object, "retry") { json, path throws(InvalidInput) in
      RetryPolicy().overlaid(with: try RetryLayer(reading: json, path: path))
    }
    concurrency = try Self.change(object, "concurrency", Concurrency.init(reading:path:))
    bandwidth = try Self.change(object, "bandwidth", Bandwidth.init(reading:path:))
    timeouts = try Self.change(object, "timeouts", Timeouts.init(reading:path:))
    trust = try Self.change(object, "tls", TrustSettings.init(reading:path:))
    proxy = try Self.change(object, "proxy") { json, path throws(InvalidInput) in
      try ProxyURL.checked(json.string(at: path), path: path)
    }
    http2 = try Self.change(object, "http2") { json, path throws(InvalidInput) in try json.bool(at: path) }
  }

  private static func change<Value: Sendable>(
    _ object: ObjectReader, _ name: String, _ read: (JSON, String) throws(InvalidInput) -> Value
  ) throws(InvalidInput) -> Change<Value> {
    guard let json = object[name] else { return .stay }
    return json.isNull ? .reset : .set(try read(json, object.path(of: name)))
  }

  /// The configuration with this change made to it.
  package func applied(to old: Configuration) -> Configuration {
    let initial = Configuration()
    var new = old
    new.lifetimeMs = lifetimeMs.applied(to: old.lifetimeMs, default: initial.lifetimeMs)
    new.retry = retry.applied(to: old.retry, default: initial.retry)
    new.concurrency = concurrency.applied(to: old.concurrency, default: initial.concurrency)
    new.bandwidth = bandwidth.applied(to: old.bandwidth, default: initial.bandwidth)
    new.timeouts = timeouts.applied(to: old.timeouts, default: initial.timeouts)
    let settings = trust.applied(to: TrustSettings(of: old.connection), default: TrustSettings())
    new.connection.caFile = settings.caFile
    new.connection.hosts = settings.hosts
    new.connection.proxy = proxy.applied(to: old.connection.proxy, default: nil)
    new.connection.http2 = http2.applied(to: old.connection.http2, default: false)
    return new
  }
}
