package import JSONText

/// What `configure` holds: persisted, the same for every host.
package struct Configuration: Sendable, Equatable {
  /// Distance of the default `expiresAt`, ms.
  package var lifetimeMs: Int64 = 14 * 24 * 60 * 60 * 1000
  package var retry = RetryPolicy()
  package var concurrency = Concurrency()
  package var bandwidth = Bandwidth()
  package var timeouts = Timeouts()
  package var connection = ConnectionSettings()

  package init() {}

  /// Reads back what `storedText` gave. A member that is missing or does not read takes its default, so that
  /// a row written by another version never keeps the queue from starting (B147).
  package init(stored json: JSON) {
    for (name, value) in json.members() {
      let member = JSON(writing: { $0.object { $0.member(name, value) } })
      guard let change = try? ConfigurationChange(reading: member) else { continue }
      self = change.applied(to: self)
    }
  }

  /// The JSON text of every member, in the form that `configure` takes.
  package var storedText: [UInt8] {
    var writer = JSONWriter()
    writer.object { object in
      object.member("lifetimeMs", lifetimeMs)
      object.member("retry") { RetryLayer(all: retry).write(into: &$0) }
      object.member("concurrency") { concurrency.write(into: &$0) }
      object.member("bandwidth") { bandwidth.write(into: &$0) }
      object.member("timeouts") { timeouts.write(into: &$0) }
      object.member("tls") { TrustSettings(of: connection).write(into: &$0) }
      if let proxy = connection.proxy { object.member("proxy", proxy) }
      object.member("http2", connection.http2)
    }
    return writer.bytes
  }
}

extension RetryLayer {
  fileprivate init(all policy: RetryPolicy) {
    self.init()
    backoff = policy.backoff
    exempt = policy.exempt
    transient = policy.transient
  }
}
