package import JSONText
import OuttrayProtocol

/// What of an event people may see: no query of a URL, no header, no body. Members that are not listed are
/// left out, so that one of a later version brings no secret through.
package enum OpenEvent: String, Sendable, CaseIterable {
  case state, attempt, group, settled, groupSettled

  private var members: [String] {
    switch self {
    case .state:
      [
        "id", "key", "vars", "group", "lane", "state", "bytesSent", "totalBytes", "attempts", "updatedAt",
        "nextAttemptAt",
      ]
    case .attempt:
      [
        "id", "key", "requestId", "attempt", "url", "method", "partIndex", "outcome", "httpCode", "errorKind",
        "errorMessage", "at",
      ]
    case .settled:
      [
        "eventId", "id", "key", "vars", "group", "lane", "at", "generation", "attempts", "requestId",
        "deliveries", "state", "bytesSent", "totalBytes", "url", "method", "partIndex", "kind", "response",
        "error", "cancelReason",
      ]
    case .group: ["group", "counts", "progress", "bytesSent", "totalBytes"]
    case .groupSettled: ["eventId", "group", "at", "generation", "deliveries", "counts", "failed"]
    }
  }

  /// The members of `params` that hold no secret.
  package func write(_ params: JSON, into writer: inout JSONWriter) {
    for name in members {
      guard let value = params[name] else { continue }
      switch name {
      case "url": writer.member(name, withoutQuery(value.string ?? ""))
      case "response": writer.member(name) { OpenEvent.write(response: value, into: &$0) }
      case "error":
        writer.member(name) { error in
          error.object {
            for name in ["errorKind", "message"] { if let text = value[name] { $0.member(name, text) } }
            guard let response = value["response"] else { return }
            $0.member("response") { OpenEvent.write(response: response, into: &$0) }
          }
        }
      default: writer.member(name, value)
      }
    }
  }

  private static func write(response: JSON, into writer: inout JSONWriter) {
    writer.object {
      for name in ["status", "bodyTruncated"] { if let value = response[name] { $0.member(name, value) } }
    }
  }

  // MARK: For people

  /// An outcome in a few words.
  package static func words(of outcome: JSON) -> String {
    let kind = outcome["kind"]?.string ?? ""
    let error = outcome["error"]
    let status = (outcome["response"] ?? error?["response"])?["status"]?.integer.map { " \($0)" } ?? ""
    let reason = error?["message"]?.string ?? outcome["cancelReason"]?.string
    let errorKind = error?["errorKind"]?.string.map { " \($0)" } ?? ""
    return Printable.text("\(kind)\(errorKind)\(status)\(reason.map { ": \($0)" } ?? "")")
  }

  /// Members of a group by state, those alone that there are.
  package static func counts(of group: JSON) -> String {
    let counts = (group["counts"] ?? .emptyObject).members().compactMap { name, count in
      count.integer.flatMap { $0 > 0 ? "\($0) \(name)" : nil }
    }
    return counts.isEmpty ? "no members" : counts.joined(separator: ", ")
  }

  /// The rest of a line of the log, behind the time.
  package func words(of params: JSON) -> String {
    let id = params["id"]?.string ?? ""
    switch self {
    case .state: return Printable.text("\(id) is \(params["state"]?.string ?? "")")
    case .settled: return Printable.text("\(id): ") + OpenEvent.words(of: params)
    case .group, .groupSettled:
      let failed = params["failed"]?.elements().compactMap(\.string) ?? []
      let names = failed.isEmpty ? "" : "; failed: \(failed.joined(separator: ", "))"
      return Printable.text("group \(params["group"]?.string ?? ""): \(OpenEvent.counts(of: params))\(names)")
    case .attempt:
      let number = params["attempt"]?.integer ?? 0
      let part = params["partIndex"]?.integer.map { " of part \($0)" } ?? ""
      let status = params["httpCode"]?.integer.map { " \($0)" } ?? ""
      let kind = params["errorKind"]?.string.map { " \($0)" } ?? ""
      let reason = params["errorMessage"]?.string.map { ": \($0)" } ?? ""
      let target = "\(params["method"]?.string ?? "") \(withoutQuery(params["url"]?.string ?? ""))"
      let outcome = params["outcome"]?.string ?? ""
      return Printable.text("\(id) attempt \(number)\(part), \(target): \(outcome)\(kind)\(status)\(reason)")
    }
  }
}
