import JSONText
import QueueModel
import QueueStore

/// One entry as people may see it: names of headers, URLs without a query, lengths of bodies.
struct Portrait {
  let entry: Entry
  let row: Row
  let predecessors: [Predecessor]
  let standing: Explanation
  let outcomes: [JournaledOutcome]

  /// One that the entry comes after.
  struct Predecessor {
    let id: EntryID
    /// nil for one that is gone.
    let state: Row.State?
    /// It has completed, whatever became of it since.
    let isMet: Bool

    fileprivate var words: String { "\(Printable.text(id.text)) (\(state?.rawValue ?? "gone"))" }
  }

  private var url: String {
    (entry.parts?.latest.url ?? entry.request.url).map { withoutQuery($0.text) } ?? ""
  }

  private var headerNames: [String] { entry.request.headers.fields.map(\.name) }

  // MARK: For programs

  func writeMembers(into writer: inout JSONWriter) {
    writer.member("row") { row.write(into: &$0) }
    writer.member("generation", entry.generation)
    writer.member("createdAt", entry.createdAt)
    writer.member("expiresAt", entry.expiresAt)
    if let weight = entry.weight { writer.member("weight", weight) }
    if let deadlineMs = entry.deadlineMs { writer.member("deadlineMs", deadlineMs) }
    writer.member("after") { list in
      list.array { list in
        for predecessor in predecessors {
          list.object {
            $0.member("id", predecessor.id.text)
            if let state = predecessor.state { $0.member("state", state.rawValue) }
            $0.member("met", predecessor.isMet)
          }
        }
      }
    }
    if let requestID = entry.lastRequestID { writer.member("requestId", requestID) }
    writer.member("request") { request in request.object(writeRequest) }
    writer.member("body") { body in
      body.object {
        $0.member("kind", entry.body.kind.rawValue)
        $0.member("bytes", entry.body.length)
        if let parts = entry.parts {
          $0.member("parts", parts.count)
          $0.member("accepted", parts.accepted)
        }
      }
    }
    standing.writeGates(into: &writer)
    if !standing.isServed { writer.member("served", false) }
    writer.member("outcomes") { list in
      list.array { list in
        for journaled in outcomes { list.object { OpenEvent.settled.write(journaled.event, into: &$0) } }
      }
    }
  }

  private func writeRequest(into writer: inout JSONWriter) {
    writer.member("url", url)
    writer.member("method", entry.request.method.rawValue)
    writer.member("headers", headerNames)
    if let wifiOnly = entry.request.wifiOnly { writer.member("wifiOnly", wifiOnly) }
    writer.member("priority", entry.request.priority.rawValue)
    writer.member("staging", entry.request.staging.rawValue)
  }

  // MARK: For people

  func lines(now: Int64, colour: (String, Colour?) -> String) -> [String] {
    var pairs: [(String, String)] = [
      ("id", Printable.text(row.id.text)), ("key", Printable.text(row.key.text)),
      ("state", colour(row.state.rawValue, row.state.colour)),
      ("request", "\(entry.request.method.rawValue) \(url)"),
      ("headers", headerNames.isEmpty ? "none" : headerNames.map(Printable.text).joined(separator: ", ")),
      ("body", body), ("sent", "\(Amount.bytes(row.bytesSent)) of \(Amount.bytes(row.totalBytes))"),
      ("attempts", "\(row.attempts)\(entry.lastRequestID.map { ", the last one as \($0)" } ?? "")"),
      ("priority", entry.request.priority.rawValue),
      ("vars", Printable.cut(Printable.text(entry.vars.description), to: Portrait.longest)),
      ("created", Amount.time(entry.createdAt)), ("changed", Amount.time(row.updatedAt)),
      ("expires", Amount.time(entry.expiresAt)),
    ]
    pairs += placing
    if let wifiOnly = entry.request.wifiOnly { pairs.append(("wifi only", wifiOnly ? "yes" : "no")) }
    if let next = row.nextAttemptAt {
      pairs.append(("next attempt", "\(Amount.time(next)) (in \(Amount.duration(ms: next - now)))"))
    }
    for journaled in outcomes {
      let words = "\(OpenEvent.words(of: journaled.event)); told \(journaled.deliveries) times"
      pairs.append(("outcome", "\(Amount.time(journaled.record.at))  \(words)"))
    }
    let width = pairs.map(\.0.count).max() ?? 0
    let lines = pairs.map { name, text in
      colour(name + String(repeating: " ", count: width - name.count), .faint) + "  " + text
    }
    return lines + ["", standing.sentences(of: Printable.text(row.id.text), now: now)]
  }

  /// Where it stands among others.
  private var placing: [(String, String)] {
    var pairs: [(String, String)] = []
    if let group = entry.group {
      let weight = entry.weight.map { "weight \($0)" } ?? "weighs as its bytes"
      pairs.append(("group", "\(Printable.text(group.text)), \(weight)"))
    }
    if let lane = entry.lane { pairs.append(("lane", Printable.text(lane.text))) }
    if !predecessors.isEmpty {
      let more = predecessors.count - Portrait.namedAtOnce
      let names = predecessors.prefix(Portrait.namedAtOnce).map(\.words).joined(separator: ", ")
      pairs.append(("comes after", names + (more > 0 ? ", and \(more) more" : "")))
    }
    if let deadlineMs = entry.deadlineMs {
      pairs.append(("deadline", "\(Amount.duration(ms: deadlineMs)) from its first attempt"))
    }
    return pairs
  }

  private static let longest = 400
  private static let namedAtOnce = 10

  private var body: String {
    let length = Amount.bytes(entry.body.length)
    switch entry.body.kind {
    case .none: return "none"
    case .data, .form, .file: return "\(entry.body.kind.rawValue), \(length)"
    case .parts:
      let parts = entry.parts.map { ", \($0.accepted) of \($0.count) parts accepted" } ?? ""
      return "file in parts, \(length)\(parts)"
    }
  }
}

/// A URL without what may hold a secret: its query and what follows.
func withoutQuery(_ url: String) -> String { String(url.prefix { $0 != "?" && $0 != "#" }) }

extension JournaledOutcome {
  var kind: OpenEvent {
    switch record {
    case .entry: .settled
    case .group: .groupSettled
    }
  }

  /// The params of its event, bodies included.
  var event: JSON {
    JSON {
      switch record {
      case .entry(let outcome): outcome.write(into: &$0, deliveries: deliveries)
      case .group(let outcome): outcome.write(into: &$0, deliveries: deliveries)
      }
    }
  }
}
