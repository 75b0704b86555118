import JSONText

/// What a line from a host turns out to be (protocol.md section 1).
package enum Incoming: Sendable {
  case request(Request)

  /// A request without an id: never answered.
  case notification(method: String)

  /// To be answered at once with the error; nil is `id: null`.
  case refused(id: RequestID?, RPCError)

  /// Reads one line. Nothing that a line holds is fatal.
  package static func read(_ line: [UInt8]) -> Incoming {
    let scanned: ScannedLine
    do {
      scanned = try JSON.scan(line)
    } catch {
      return .refused(id: nil, .parse("the line is not JSON: \(error.reason) at byte \(error.offset)"))
    }
    switch scanned.value.kind {
    case .object: return Envelope(scanned.value).incoming(scanned.unfit)
    case .array: return .refused(id: nil, .request("a line holds one request: batches are not served"))
    case .string, .number, .true, .false, .null:
      return .refused(id: nil, .request("a request is an object"))
    }
  }
}
