import JSONText

@testable import QueueModel
@testable import QueueStore

/// A queue with a row of every kind, in every table.
struct RowSample {
  static let now = Moment(wall: 1_700_000_000_000, steady: 1_000_000)

  static func fill(_ store: QueueStore) throws {
    try store.write(durable: false) { writer in
      try addSettings(writer)
      for entry in try entries() { try writer.insert(entry) }
      try writer.putRowBody(1, Array(#"{"a":[1,"two"]}"#.utf8))
      try writer.putParts(parts(request(parted)), of: 4)
      let bindings = [
        TakenBinding(binding("one", .pointer(JSONPointer("/a/0")!)), value: try json("7")),
        TakenBinding(binding("two", .header("etag")), value: nil),
      ]
      try writer.put([Edge(predecessor: EntryID("e1"), isMet: false)], settles: true, bindings, of: 7)
      for number: Int64 in [7, 8] { try writer.join(Lane("l"), number) }
      for outcome in try outcomes() {
        _ = try writer.append(.entry(outcome))
        try writer.noteEnd(outcome)
      }
      try writer.noteUnneeded(EntryID("e5"))
      try writer.release(StagedBody(kind: .file, length: 1, place: .file(name: "gone")), of: 99)
      let identity = FileIdentity(
        device: 1, inode: 2, stamp: SourceStamp(size: 3, modifiedAt: 4, inode: 2), changedAt: 5)
      let path = FilePath(bytes: Array("/nowhere/a".utf8))
      try writer.note([MovedSource(path: path, link: nil, identity: identity)])
    }
  }

  private static func addSettings(_ writer: Writer) throws {
    var gates = Gates()
    gates.pausedKeys = [EntryKey("other")]
    gates.pausedGroups = [EntryGroup("apart")]
    gates.add(HeaderPatch(number: 1, headers: try headers(), keys: [EntryKey("k")], origin: nil))
    gates.add(HeaderPatch(number: 2, headers: try headers(), keys: nil, origin: Origin(text: origin)))
    try writer.savePause(gates)
    try writer.savePatches(gates)
    try writer.save(wifiOnly: false)
    try writer.save(Configuration())
    try writer.save(Outage(number: 1, since: 5, endedAt: nil), of: Origin(text: origin))
    let figures = try json(#"{"queued":1}"#)
    try writer.addDiagnostic(
      Diagnostic(at: 1, level: .info, message: "boot", figures: figures), isBoot: true)
    try writer.addDiagnostic(Diagnostic(at: 2, level: .warn, message: "m", error: "e"), isBoot: false)
  }

  private static let origin = "https://a.example:443"

  private static let parted = """
    {"method":"PUT","file":"/a","parts":[{"url":"https://a.example/0","range":{"start":0,"end":5}},
    {"url":"https://a.example/1","headers":{"N":"1"},"range":{"start":5,"end":9}},
    {"url":"https://a.example/2","range":{"start":9,"end":12}}]}
    """

  private static let form = """
    {"url":"https://a.example/f","form":[{"name":"f","contentType":"t/t","path":"/b"}],"staging":"reference",
    "accept":[{"status":409,"bodyIncludes":"dup"}],"retry":{"backoff":{"baseMs":1,"maxMs":9,"jitter":0.5}}}
    """

  private static func entries() throws -> [Entry] {
    let data = #"{"url":"https://a.example/u","headers":{"A":"b"},"data":{"a":[1,"two"]}}"#
    let plain = #"{"url":"https://a.example/u","method":"GET"}"#
    let bound = #"{"url":"https://a.example/{one}","headers":{"T":"{two}"}}"#
    var list = [
      try entry(1, data, StagedBody(kind: .data, length: 15, place: .row), .queued(Entry.Wait(due: 0))),
      try entry(
        2, #"{"url":"https://a.example/u","file":"/c"}"#,
        StagedBody(
          kind: .file, length: 4, place: .file(name: "body-x"),
          sources: [SourceStamp(size: 4, modifiedAt: 9, inode: 1)]),
        .running(Entry.Attempt(ordinal: 1, requestID: "r", headerRevision: 0))),
      try entry(3, plain, .none, .awaitingAuth(revision: 1)), try entryInParts(),
      try entry(5, plain, .none, .settled(.completed, eventID: "v5")),
      try entry(6, plain, .none, .settled(.error, eventID: "v6")),
      try entry(7, bound, .none, .held(Entry.Held(unmet: 1, isBehind: false)!)),
      try entry(
        8, form,
        StagedBody(
          kind: .form, length: 120, place: .reference, contentType: "multipart/form-data; boundary=b",
          sources: [SourceStamp(size: 9, modifiedAt: 2, inode: 3)]),
        .queued(Entry.Wait(due: 50, isBackoff: true, outage: 1, spread: 0.5))),
    ]
    for index in [4, 7] { list[index].group = EntryGroup("g") }
    for index in [6, 7] { list[index].lane = Lane("l") }
    list[7].weight = 2
    list[7].deadlineMs = 1000
    list[7].attempts = 3
    list[7].firstAttemptAt = now.wall
    list[7].failures = failures
    list[6].state = .held(Entry.Held(unmet: 1, isBehind: false)!)
    list[7].state = .held(Entry.Held(unmet: 0, isBehind: true)!)
    list.append(
      try entry(9, plain, .none, .queued(Entry.Wait(due: 7, isBackoff: true, outage: 1, spread: 0.5))))
    list[8].group = EntryGroup("apart")
    list[8].failures = failures
    return list
  }

  private static var failures: FailureCounts {
    var failures = FailureCounts()
    failures.streak = 3
    failures.cutAnswers = 2
    failures.rules = [RuleCount(status: 418, bodyIncludes: "t", count: 1)]
    return failures
  }

  private static func entryInParts() throws -> Entry {
    var entry = try entry(
      4, parted, StagedBody(kind: .parts, length: 12, place: .file(name: "body-y")), .sending(next: 7))
    let wait = Entry.Wait(due: 50, isBackoff: true, outage: 1, spread: 0.25)
    let open = [
      Part(
        index: 0, state: .waiting(wait), attempt: .init(ordinal: 1, requestID: "r1", headerRevision: -1),
        generation: 1, failures: failures),
      Part(
        index: 1, state: .inFlight, attempt: .init(ordinal: 2, requestID: "r2", headerRevision: 1),
        generation: 1),
    ]
    entry.parts = Parts(
      count: 3, begun: 2, accepted: 0, acceptedBytes: 0, open: open,
      latest: .init(index: 1, url: parts(try request(parted))[1].url), since: 1)
    entry.attempts = 2
    return entry
  }

  private static func outcomes() throws -> [Outcome] {
    let response = ResponseRecord(
      status: 200, headers: [("etag", "x")], body: .text("{}"), bodyTruncated: false)
    return try [
      outcome(5, .completed(response)), outcome(6, .error(kind: .http, message: "m", response: response)),
    ]
  }

  private static func outcome(_ number: Int64, _ settlement: Outcome.Settlement) throws -> Outcome {
    Outcome(
      eventID: "v\(number)", entry: number, id: EntryID("e\(number)"), key: EntryKey("k"),
      vars: try json("{}"), at: now.wall, generation: 1, attempts: 1, requestID: "r", bytesSent: 0,
      totalBytes: 0, url: "https://a.example/u", method: .get, partIndex: nil, settlement: settlement)
  }

  private static func binding(_ name: String, _ source: Binding.Source) -> Binding {
    Binding(name: name, entry: EntryID("e1"), source: source)
  }

  private static func headers() throws -> HeaderFields {
    try HeaderFields(reading: json(#"{"Authorization":"t"}"#), path: "")
  }

  private static func parts(_ request: Descriptor) -> [PartRequest] {
    guard case .parts(_, let parts) = request.body else { return [] }
    return parts
  }

  private static func request(_ text: String) throws -> Descriptor { try Descriptor(reading: json(text)) }

  private static func json(_ text: String) throws -> JSON { try JSON(checking: Array(text.utf8)) }

  private static func entry(
    _ number: Int64, _ request: String, _ body: StagedBody, _ state: Entry.State
  ) throws -> Entry {
    Entry(
      number: number, id: EntryID("e\(number)"), key: EntryKey("k"), vars: try json(#"{"v":1}"#),
      generation: 1, request: try self.request(request), body: body, idempotencyKey: "i\(number)",
      headerRevision: 0, expiresAt: now.wall + 1000, state: state, createdAt: now.wall, updatedAt: now.wall)
  }
}
