import JSONText
import QueueEngine
import QueueModel

/// What is seen from outside, in order: all that the checker knows.
enum Happening {
  /// The step at this place begins.
  case step(Int)
  /// Both clocks, before something happens that depends on them.
  case time(Moment)
  /// A host made the call of this number.
  case asked(Int, Ask)
  case answered(Int, Reaction)
  case told(host: Int, HostEvent)
  case connected(host: Int)
  case disconnected(host: Int)
  /// The server sees a request.
  case sent(Sight)
  /// Bytes of a request have gone.
  case progressed(requestID: String)
  /// The client of a request has gone.
  case stopped(requestID: String)
  /// What the network made of a request; `wasStopped` when the client had gone already.
  case replied(requestID: String, Step.Reply, wasStopped: Bool)
  case diskFault(Step.Fault)
  case ended(Step.Death)
  /// `isSame`: the system was not started anew.
  case started(isSame: Bool)
  /// Nothing is left to be done at this moment.
  case quiet
  case logged(LogLine)
  /// A host has written a file that it may hand over.
  case wrote(String)
  /// Names beside the queue, and in its folder of bodies.
  case files(Files)
  /// The history is over: everything was answered, and a host has subscribed to everything.
  case lastSubscription
  case over
}

/// What a host asks for.
enum Ask {
  case enqueue([Request], all: Bool)
  case cancel(String)
  case cancelGroup(String)
  case retry(String)
  case pause(Step.Scope)
  case resume(Step.Scope)
  case updateHeaders(key: String?, origin: String?, secret: String)
  case network(Int)
  case wifiOnly(Bool)
  case subscribe(host: Int, key: String?, window: Int)
  case acknowledge([String])
  case release([String], host: Int)
  case rows
  case diagnostics
}

/// One request as a host words it.
struct Request {
  var id: String
  var key: String
  var group: String?
  var lane: String?
  var after: [String]
  var settlesOnFailure: Bool
  /// Of parts, what the URLs begin with.
  var url: String
  var body: Wish.Body
  /// What the server has to see, all parts together.
  var content: [UInt8]
  var partSizes: [Int]
  var path: String?
  var expiresAt: Int64?
  var wifiOnly: Bool
  var secret: String
  var host: Int
  var isHigh: Bool
}

/// What a call is answered with.
enum Reaction {
  case done
  case accepted([EnqueueAnswer])
  case row(Row)
  case rows([Row])
  case diagnostics([String])
  case refused(Refusal)
}

/// A request as the server sees it.
struct Sight {
  var requestID: String
  var method: String
  var url: String
  var headers: [(name: String, value: String)]
  var body: [UInt8]?
}

struct Files {
  var sources: Set<String>
  var foreign: Set<String>
  var bodies: Int
}

/// A rule does not hold.
struct Broken: Error {
  var rule: String
}

extension Happening {
  /// One line, without anything that differs between two runs.
  var line: String {
    switch self {
    case .step(let place): "step \(place)"
    case .time(let now): "time \(now.wall) \(now.steady)"
    case .asked(let number, let ask): "#\(number) asks: \(ask.line)"
    case .answered(let number, let reaction): "#\(number) is answered: \(reaction.line)"
    case .told(let host, let event): "host \(host) is told: \(event.line)"
    case .connected(let host): "host \(host) connects"
    case .disconnected(let host): "host \(host) goes"
    case .sent(let sight):
      "server sees \(sight.requestID) \(sight.method) \(sight.url) \(sight.body?.count ?? -1)"
    case .progressed(let id): "progress of \(id)"
    case .stopped(let id): "stopped \(id)"
    case .replied(let id, let reply, let late): "reply to \(id): \(reply)\(late ? " (late)" : "")"
    case .diskFault(let fault): "disk: \(fault)"
    case .ended(let death): "the process ends: \(death.rawValue)"
    case .started(let isSame): "the process starts\(isSame ? "" : ", and the system with it")"
    case .quiet: "quiet"
    case .logged(let line): "log: \(line.text)"
    case .files(let files): "files: \(files.sources.sorted()) \(files.foreign.sorted()) \(files.bodies)"
    case .wrote(let source): "a host writes \(source)"
    case .lastSubscription: "last subscription"
    case .over: "over"
    }
  }
}

extension Sight {
  /// What the URL begins with, up to the path.
  var origin: Substring {
    let scheme = url.firstIndex(of: ":").map { url.index($0, offsetBy: 3) } ?? url.startIndex
    return url[..<(url[scheme...].firstIndex(of: "/") ?? url.endIndex)]
  }
}

extension LogLine {
  var text: String {
    let fields = fields.map { field in
      switch field.value {
      case .text(let text): "\(field.name)=\(text)"
      case .number(let number): "\(field.name)=\(number)"
      case .json(let json): "\(field.name)=\(String(decoding: json.text, as: UTF8.self))"
      }
    }
    return "\(message) \(fields.joined(separator: " "))"
  }
}

extension Ask {
  var line: String {
    switch self {
    case .enqueue(let requests, let all):
      "enqueue\(all ? "All" : "") "
        + requests.map {
          "\($0.id) \($0.key) \($0.url) \($0.body) group \($0.group ?? "-") lane \($0.lane ?? "-") "
            + "after \($0.after) expires \($0.expiresAt.map { "\($0)" } ?? "-") host \($0.host)"
        }.joined(separator: "; ")
    case .cancel(let id): "cancel \(id)"
    case .cancelGroup(let group): "cancel group \(group)"
    case .retry(let id): "retry \(id)"
    case .pause(let scope): "pause \(scope)"
    case .resume(let scope): "resume \(scope)"
    case .updateHeaders(let key, let origin, _): "updateHeaders \(key ?? "-") \(origin ?? "-")"
    case .network(let kind): "network \(kind)"
    case .wifiOnly(let is_): "wifiOnly \(is_)"
    case .subscribe(let host, let key, let window): "subscribe \(host) \(key ?? "-") \(window)"
    case .acknowledge(let ids): "acknowledge \(ids)"
    case .release(let ids, let host): "release \(ids) \(host)"
    case .rows: "rows"
    case .diagnostics: "diagnostics"
    }
  }
}

extension Reaction {
  var line: String {
    switch self {
    case .done: "done"
    case .accepted(let answers):
      answers.map { "\($0.disposition) \($0.generation) \($0.row.line)" }.joined(separator: "; ")
    case .row(let row): row.line
    case .rows(let rows): rows.map(\.line).joined(separator: "; ")
    case .diagnostics(let all): "\(all.count) diagnostics"
    case .refused(let refusal): "\(refusal)"
    }
  }
}

extension Row {
  var line: String {
    "\(id) \(key) \(state) attempts \(attempts) sent \(bytesSent)/\(totalBytes)"
      + (nextAttemptAt.map { " next \($0)" } ?? "")
  }
}

extension HostEvent {
  var line: String {
    switch self {
    case .state(let row): "state \(row.line)"
    case .progress(let id, let sent, let total): "progress \(id) \(sent)/\(total)"
    case .attempt(let event):
      "attempt \(event.id) \(event.attempt) \(event.requestID) part \(event.partIndex ?? -1) \(event.result)"
    case .settled(let outcome, let deliveries):
      "settled \(outcome.id) \(outcome.generation) \(outcome.settlement.kind) \(outcome.eventID) "
        + "\(deliveries)"
    case .group(let status): "group \(status.group)"
    case .groupSettled(let outcome, let deliveries):
      "groupSettled \(outcome.group) \(outcome.generation) \(outcome.counts) \(outcome.eventID) \(deliveries)"
    case .resync: "resync"
    }
  }

  /// As it goes over the wire.
  var text: String {
    var writer = JSONWriter()
    switch self {
    case .state(let row): row.write(into: &writer)
    case .attempt(let event): event.write(into: &writer)
    case .settled(let outcome, let deliveries): outcome.write(into: &writer, deliveries: deliveries)
    case .groupSettled(let outcome, let deliveries): outcome.write(into: &writer, deliveries: deliveries)
    case .progress, .group, .resync: return ""
    }
    return String(decoding: writer.bytes, as: UTF8.self)
  }
}
