package import JSONText

extension Outcome {
  /// Writes the params of the `settled` event (protocol.md section 3): absent values are left out, null vars
  /// stay.
  ///
  /// - Parameter deliveries: How often the outcome was sent to a host, this time included.
  package func write(into writer: inout JSONWriter, deliveries: Int64) {
    writer.object { event in
      writeMembers(into: &event, exactly: false)
      event.member("deliveries", deliveries)
    }
  }

  /// The JSON text of all of it; `init(stored:)` is its exact inverse. The journal counts deliveries beside
  /// it.
  package var storedText: [UInt8] {
    var writer = JSONWriter()
    writer.object { stored in
      writeMembers(into: &stored, exactly: true)
      stored.member("entry", entry)
      if let host { stored.member("host", "\(host.number)") }
    }
    return writer.bytes
  }

  /// - Parameter exactly: Keeps vars byte for byte, where a frame escapes what may not stand in a line.
  private func writeMembers(into event: inout JSONWriter, exactly: Bool) {
    event.member("eventId", eventID)
    event.member("id", id.text)
    event.member("key", key.text)
    event.key("vars")
    if exactly { event.rawExact(vars) } else { event.raw(vars) }
    if let group { event.member("group", group.text) }
    if let lane { event.member("lane", lane.text) }
    event.member("at", at)
    event.member("generation", generation)
    event.member("attempts", attempts)
    if let requestID { event.member("requestId", requestID) }
    event.member("state", settlement.kind.rawValue)
    event.member("bytesSent", bytesSent)
    event.member("totalBytes", totalBytes)
    event.member("url", url)
    event.member("method", method.rawValue)
    if let partIndex { event.member("partIndex", partIndex) }
    event.member("kind", settlement.kind.rawValue)
    switch settlement {
    case .completed(let response):
      event.member("response") { response.write(into: &$0) }
    case .error(let kind, let message, let response):
      event.member("error") { error in
        error.object {
          $0.member("errorKind", kind.rawValue)
          $0.member("message", message)
          if let response { $0.member("response") { response.write(into: &$0) } }
        }
      }
    case .cancelled(let reason):
      event.member("cancelReason", reason)
    }
  }

  /// Reads back what `storedText` gave.
  ///
  /// - Throws: The member that is missing or cannot be an outcome's; the row is damaged then.
  package init(stored json: JSON) throws(InvalidInput) { try self.init(stored: json.indexed()) }

  init(stored json: JSON.Index) throws(InvalidInput) {
    self.init(
      eventID: try json.stored("eventId", \.string), entry: try json.stored("entry", \.integer),
      id: EntryID(try json.stored("id", \.string)), key: EntryKey(try json.stored("key", \.string)),
      vars: try json.stored("vars") { $0 }, at: try json.stored("at", \.integer),
      generation: try json.stored("generation", \.integer), attempts: try json.stored("attempts", \.integer),
      requestID: json["requestId"]?.string, bytesSent: try json.stored("bytesSent", \.integer),
      totalBytes: try json.stored("totalBytes", \.integer), url: try json.stored("url", \.string),
      method: try json.stored("method") { $0.string.flatMap(HTTPMethod.init(rawValue:)) },
      partIndex: json["partIndex"]?.integer.map { Int($0) },
      settlement: try json.stored("kind") { Settlement(kind: $0, in: json) },
      host: json["host"]?.string.flatMap { Int64($0) }.map(HostID.init),
      lane: json["lane"]?.string.map { Lane($0) },
      group: json["group"]?.string.map { EntryGroup($0) })
  }
}

extension Outcome.Settlement {
  fileprivate init?(kind: JSON, in outcome: JSON.Index) {
    switch kind.string.flatMap(Outcome.Kind.init(rawValue:)) {
    case .completed:
      guard let response = outcome["response"] else { return nil }
      self = .completed(ResponseRecord(stored: response))
    case .error:
      guard let error = outcome["error"], let message = error["message"]?.string,
        let kind = error["errorKind"]?.string.flatMap(ErrorKind.init(rawValue:))
      else { return nil }
      self = .error(
        kind: kind, message: message, response: error["response"].map { ResponseRecord(stored: $0) })
    case .cancelled:
      guard let reason = outcome["cancelReason"]?.string else { return nil }
      self = .cancelled(reason: reason)
    case nil: return nil
    }
  }
}

extension JSON.Index {
  func stored<Value>(_ name: String, _ read: (JSON) -> Value?) throws(InvalidInput) -> Value {
    guard let value = self[name].flatMap(read) else {
      throw InvalidInput(path: JSONPath.member(name, of: "stored"), message: "cannot be read")
    }
    return value
  }
}
