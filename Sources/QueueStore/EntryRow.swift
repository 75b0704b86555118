import JSONText
import QueueModel

/// How an entry lies in the tables `entry` and `entry_text`.
enum EntryRow {
  /// Columns that change together. An update names only the parts that changed: SQLite rewrites each index of
  /// each column that an update names, whether its value is another one or not.
  enum Part: CaseIterable {
    case identity, bucket, group, state, settlement, headers, expiry, body, kept, rest

    var columns: [String] {
      switch self {
      case .identity: ["id", "created_at"]
      case .bucket: ["bucket"]
      case .group: ["group_number"]
      case .state:
        [
          "state", "due", "is_backoff", "outage", "spread", "attempt_ordinal", "attempt_request_id",
          "attempt_revision", "parked_revision", "held_unmet", "held_behind",
        ]
      case .settlement: ["settled_event"]
      case .headers: ["header_revision"]
      case .expiry: ["expires_at"]
      case .body: ["body_kind", "body_place", "body_length", "body_file", "body_type", "sources"]
      case .kept: ["is_kept", "data_digest"]
      case .rest:
        [
          "generation", "attempts", "idempotency_key", "streak", "cut_answers", "followed_reuse", "rules",
          "bytes_sent", "last_request_id", "updated_at", "host", "weight", "deadline_ms", "first_attempt_at",
          "turn",
        ]
      }
    }
  }

  static func columns(of parts: [Part]) -> [String] { parts.flatMap(\.columns) }

  /// The parts of an entry whose row differs from that of `old`.
  static func changedParts(_ entry: Entry, from old: Entry, isMoved: Bool) -> [Part] {
    var parts: [Part] = []
    if isMoved { parts.append(.bucket) }
    if entry.group != old.group { parts.append(.group) }
    if !hasSameRow(entry.state, old.state) { parts.append(.state) }
    if settledEvent(entry.state) != settledEvent(old.state) { parts.append(.settlement) }
    if entry.headerRevision != old.headerRevision { parts.append(.headers) }
    if entry.expiresAt != old.expiresAt { parts.append(.expiry) }
    if entry.body != old.body { parts.append(.body) }
    if entry.kept != old.kept { parts.append(.kept) }
    // The turn that writes it is always another one.
    parts.append(.rest)
    return parts
  }

  /// Which parts are in flight, and when the next may go, lies elsewhere.
  private static func hasSameRow(_ state: Entry.State, _ old: Entry.State) -> Bool {
    if case .sending = state, case .sending = old { return true }
    return state == old
  }

  /// Numbers that stand in a row beside what the entry says.
  struct Place {
    var bucket: Int64
    var group: Int64?
    /// The turn that writes it.
    var turn: Int64
  }

  static func bind(_ part: Part, of entry: Entry, in place: Place, to parameters: inout Parameters) {
    switch part {
    case .identity:
      parameters.bind(entry.id.text)
      parameters.bind(entry.createdAt)
    case .bucket: parameters.bind(place.bucket)
    case .group: parameters.bind(place.group)
    case .state: bind(entry.state, to: &parameters)
    case .settlement: parameters.bind(settledEvent(entry.state))
    case .headers: parameters.bind(entry.headerRevision)
    case .expiry: parameters.bind(entry.expiresAt)
    case .body: bind(entry.body, to: &parameters)
    case .kept:
      parameters.bind(entry.kept != nil)
      parameters.bind(entry.kept?.dataDigest)
    case .rest:
      parameters.bind(entry.generation)
      parameters.bind(entry.attempts)
      parameters.bind(entry.idempotencyKey)
      parameters.bind(entry.failures.streak)
      parameters.bind(entry.failures.cutAnswers)
      parameters.bind(entry.failures.followedReuse)
      bind(StoredLists.text(of: entry.failures.rules), to: &parameters)
      parameters.bind(entry.bytesSent)
      parameters.bind(entry.lastRequestID)
      parameters.bind(entry.updatedAt)
      parameters.bind(entry.host?.number)
      parameters.bind(entry.weight)
      parameters.bind(entry.deadlineMs)
      parameters.bind(entry.firstAttemptAt)
      parameters.bind(place.turn)
    }
  }

  private static func settledEvent(_ state: Entry.State) -> String? {
    switch state {
    case .settled(_, let eventID): eventID
    case .queued, .held, .running, .sending, .awaitingAuth: nil
    }
  }

  private static func bind(_ state: Entry.State, to parameters: inout Parameters) {
    var wait: Entry.Wait?
    var attempt: Entry.Attempt?
    var parked: Int64?
    var held: Entry.Held?
    switch state {
    case .queued(let waits): wait = waits
    case .held(let holds): held = holds
    case .running(let runs): attempt = runs
    case .sending: attempt = ofParts
    case .awaitingAuth(let revision): parked = revision
    case .settled: break
    }
    parameters.bind(name(of: state))
    parameters.bind(wait?.due)
    parameters.bind(wait?.isBackoff)
    parameters.bind(wait?.outage)
    parameters.bind(wait?.spread)
    parameters.bind(attempt?.ordinal)
    parameters.bind(attempt?.requestID)
    parameters.bind(attempt?.headerRevision)
    parameters.bind(parked)
    parameters.bind(held?.unmet)
    parameters.bind(held?.isBehind)
  }

  /// Stands in the row of an entry whose parts are in flight: they have their own.
  private static let ofParts = Entry.Attempt(ordinal: 1, requestID: "", headerRevision: 0)

  private static func bind(_ body: StagedBody, to parameters: inout Parameters) {
    parameters.bind(body.kind.rawValue)
    switch body.place {
    case .none: parameters.bind("none")
    case .row: parameters.bind("row")
    case .file: parameters.bind("file")
    case .reference: parameters.bind("reference")
    }
    parameters.bind(body.length)
    if case .file(let name) = body.place { parameters.bind(name) } else { parameters.bindNull() }
    parameters.bind(body.contentType)
    bind(StoredLists.text(of: body.sources), to: &parameters)
  }

  private static func bind(_ text: [UInt8]?, to parameters: inout Parameters) {
    if let text { parameters.bind(text: text[...]) } else { parameters.bindNull() }
  }

  /// The state's wire string; `held`, which hosts see as queued, has its own.
  static func name(of state: Entry.State) -> String {
    switch state {
    case .queued: "queued"
    case .held: "held"
    case .running, .sending: "running"
    case .awaitingAuth: "awaiting-auth"
    case .settled(let kind, _): kind.rawValue
    }
  }

  /// What `read` reads, in its order.
  static let selected = ["number"] + columns(of: Part.allCases.filter { $0 != .bucket && $0 != .group })

  /// Reads `selected`, then key, what lies in `entry_text`, and the name and limit of the group. nil when a
  /// value cannot be an entry's: a damaged row reads as absent.
  static func read(_ row: inout StatementRow) -> (entry: Entry, turn: Int64)? {
    let number = row.int()
    let id = row.text()
    let createdAt = row.int()
    let state = readState(&row)
    let headerRevision = row.int()
    let expiresAt = row.int()
    let body = readBody(&row)
    let isKept = row.bool()
    let dataDigest = row.optionalBits()
    let generation = row.int()
    let attempts = row.int()
    let idempotencyKey = row.optionalText()
    var failures = FailureCounts()
    failures.streak = row.int()
    failures.cutAnswers = row.int()
    failures.followedReuse = row.bool()
    let rules = StoredLists.rules(row.optionalBytes())
    let bytesSent = row.int()
    let lastRequestID = row.optionalText()
    let updatedAt = row.int()
    let host = row.optionalBits().map(HostID.init)
    let weight = row.optionalDouble()
    let deadlineMs = row.optionalInt()
    let firstAttemptAt = row.optionalInt()
    let turn = row.int()
    let key = row.text()
    guard let state, let body, body.length >= 0, let rules, let vars = try? JSON(checking: row.bytes()),
      let request = try? JSON(checking: row.bytes()),
      let descriptor = try? Descriptor(stored: request, kind: body.kind)
    else { return nil }
    let lane = row.optionalText().map { Lane($0) }
    let sentURL = row.optionalText().map { try? RequestURL(reading: $0, path: "stored") }
    if case .some(nil) = sentURL { return nil }
    let expansion = row.optionalInt().map { Entry.Expansion(url: sentURL ?? nil, length: $0) }
    failures.rules = rules
    let group = row.optionalText().map { EntryGroup($0) }
    let groupDeadline = row.optionalInt()
    let entry = Entry(
      number: number, id: EntryID(id), key: EntryKey(key), vars: vars, generation: generation,
      request: descriptor, body: body, idempotencyKey: idempotencyKey, headerRevision: headerRevision,
      expiresAt: expiresAt, state: state, attempts: attempts, failures: failures, bytesSent: bytesSent,
      lastRequestID: lastRequestID, createdAt: createdAt, updatedAt: updatedAt, host: host, lane: lane,
      expansion: expansion, kept: isKept ? Entry.Kept(dataDigest: dataDigest) : nil, group: group,
      weight: weight, deadlineMs: deadlineMs, firstAttemptAt: firstAttemptAt, groupDeadline: groupDeadline)
    return row.isOutOfRange ? nil : (entry, turn)
  }

  /// Reads the parts `state` and `settlement`.
  static func readState(_ row: inout StatementRow) -> Entry.State? {
    let name = row.text()
    let due = row.optionalInt()
    let isBackoff = row.bool()
    let outage = row.optionalInt()
    let spread = row.optionalDouble()
    let ordinal = row.optionalInt()
    let requestID = row.optionalText()
    let revision = row.optionalInt()
    let parked = row.optionalInt()
    let unmet = row.optionalInt()
    let isBehind = row.bool()
    let event = row.optionalText()
    switch name {
    case "queued":
      return due.map {
        .queued(Entry.Wait(due: $0, isBackoff: isBackoff, outage: outage, spread: spread ?? 0))
      }
    case "held": return unmet.flatMap { Entry.Held(unmet: $0, isBehind: isBehind) }.map { .held($0) }
    case "running":
      guard let ordinal, let requestID, let revision else { return nil }
      return .running(Entry.Attempt(ordinal: ordinal, requestID: requestID, headerRevision: revision))
    case "awaiting-auth": return parked.map { .awaitingAuth(revision: $0) }
    default:
      guard let kind = Outcome.Kind(rawValue: name), let event else { return nil }
      return .settled(kind, eventID: event)
    }
  }

  private static func readBody(_ row: inout StatementRow) -> StagedBody? {
    let kind = BodyKind(rawValue: row.text())
    let placeName = row.text()
    let length = row.int()
    let file = row.optionalText()
    let contentType = row.optionalText()
    let sources = StoredLists.stamps(row.optionalBytes())
    let place: StagedBody.Place
    switch (placeName, file) {
    case ("none", nil): place = .none
    case ("row", nil): place = .row
    case ("reference", nil): place = .reference
    case ("file", let name?): place = .file(name: name)
    default: return nil
    }
    guard let kind, let sources else { return nil }
    return StagedBody(kind: kind, length: length, place: place, contentType: contentType, sources: sources)
  }
}
