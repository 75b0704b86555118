package import JSONText

/// One request of the queue: what a host asked for and where it stands. A value; the store holds the truth.
package struct Entry: Sendable {
  /// Creation number: rises, never given twice while the process lives.
  package let number: Int64
  package var id: EntryID
  package var key: EntryKey
  /// The connection that enqueued it last: its outcome goes there first (protocol.md section 3).
  package var host: HostID?
  /// The host's own, kept byte for byte.
  package var vars: JSON
  /// From 1; rises when a settled entry reopens and when the body is replaced.
  package var generation: Int64
  package var request: Descriptor
  package var body: StagedBody
  /// nil for an entry that is one request.
  package var parts: Parts?
  package var lane: Lane?
  /// What the request has become with the values that it takes from answers (D46); nil while they are not all
  /// there, and for an entry without bindings.
  package var expansion: Expansion?
  /// The Idempotency-Key that was made for the body of a POST or PATCH (D19); nil for other methods, and once
  /// the body was answered with an error. `transmission` says whether it is sent.
  package var idempotencyKey: String?
  /// The number of the newest header patch when the entry's own headers were given; only newer ones apply
  /// (D1).
  package var headerRevision: Int64
  /// The entries that it belongs to (D48).
  package var group: EntryGroup?
  /// For the progress of the group; nil takes the bytes of the body.
  package var weight: Double?
  /// From the first attempt on (D49), ms.
  package var deadlineMs: Int64?
  /// Of this generation; wall clock, ms.
  package var firstAttemptAt: Int64?
  /// When the group's own limit passes, as the store knows it when the entry is read; wall clock, ms.
  package var groupDeadline: Int64?
  /// Wall clock, ms; inclusive (D4). No later than `deadlineMs` allows.
  package var expiresAt: Int64
  package var state: State
  /// Attempts of this generation (D3).
  package var attempts: Int64
  package var failures: FailureCounts
  /// Of the current or last attempt; the total once completed.
  package var bytesSent: Int64
  /// X-Request-Id of the last attempt.
  package var lastRequestID: String?
  /// Set while others need to see that it has completed (D42).
  package var kept: Kept?
  /// Wall clock, ms.
  package var createdAt: Int64
  package var updatedAt: Int64

  /// What is stored. `paused`, and the end of a wait for credentials or of an outage, are derived (`Gates`,
  /// D1).
  package enum State: Sendable, Equatable {
    case queued(Wait)
    /// Others have to complete, or are before it in its lane.
    case held(Held)
    case running(Attempt)
    /// Parts are in flight; which ones, `parts` says. `next` is when one more may go, queue time in ms; nil
    /// while only results can bring one.
    case sending(next: Int64?)
    /// A 401 or 403 came for headers of this revision; a newer patch that covers the entry lets it go.
    case awaitingAuth(revision: Int64)
    case settled(Outcome.Kind, eventID: String)
  }

  /// When a queued entry is due.
  package struct Wait: Sendable, Equatable {
    /// Queue time, ms.
    package var due: Int64
    /// True while it waits out a failure, so that `nextAttemptAt` is shown (D2).
    package var isBackoff: Bool
    /// The outage of its origin in which the last attempt failed before it was sent; its end wakes the entry
    /// (D16).
    package var outage: Int64?
    /// 0 ..< 1: where in the spread after the end of the outage this entry wakes.
    package var spread: Double

    package init(due: Int64, isBackoff: Bool = false, outage: Int64? = nil, spread: Double = 0) {
      self.due = due
      self.isBackoff = isBackoff
      self.outage = outage
      self.spread = spread
    }
  }

  /// The attempt in flight.
  package struct Attempt: Sendable, Equatable {
    package var ordinal: Int64
    package var requestID: String
    /// The newest patch when its headers were put together; `outdated` once the entry's own headers are newer
    /// (D7).
    package var headerRevision: Int64

    /// Older than every patch.
    package static let outdated: Int64 = -1

    package init(ordinal: Int64, requestID: String, headerRevision: Int64) {
      self.ordinal = ordinal
      self.requestID = requestID
      self.headerRevision = headerRevision
    }
  }

  package init(
    number: Int64, id: EntryID, key: EntryKey, vars: JSON, generation: Int64, request: Descriptor,
    body: StagedBody, parts: Parts? = nil,
    idempotencyKey: String?, headerRevision: Int64, expiresAt: Int64, state: State, attempts: Int64 = 0,
    failures: FailureCounts = FailureCounts(), bytesSent: Int64 = 0, lastRequestID: String? = nil,
    createdAt: Int64, updatedAt: Int64, host: HostID? = nil, lane: Lane? = nil, expansion: Expansion? = nil,
    kept: Kept? = nil, group: EntryGroup? = nil, weight: Double? = nil, deadlineMs: Int64? = nil,
    firstAttemptAt: Int64? = nil, groupDeadline: Int64? = nil
  ) {
    self.number = number
    self.id = id
    self.key = key
    self.host = host
    self.vars = vars
    self.generation = generation
    self.request = request
    self.body = body
    self.parts = parts
    self.lane = lane
    self.expansion = expansion
    self.idempotencyKey = idempotencyKey
    self.headerRevision = headerRevision
    self.expiresAt = expiresAt
    self.state = state
    self.attempts = attempts
    self.failures = failures
    self.bytesSent = bytesSent
    self.lastRequestID = lastRequestID
    self.createdAt = createdAt
    self.updatedAt = updatedAt
    self.kept = kept
    self.group = group
    self.weight = weight
    self.deadlineMs = deadlineMs
    self.firstAttemptAt = firstAttemptAt
    self.groupDeadline = groupDeadline
  }
}

extension Entry {
  /// Where it is sent; of parts, where the latest went or, before the first, where that goes.
  package var origin: Origin? { (parts?.latest.url ?? sentURL)?.origin }

  /// Queued, running or waiting for credentials, paused or not.
  package var isLive: Bool {
    switch state {
    case .queued, .held, .running, .sending, .awaitingAuth: true
    case .settled: false
    }
  }

  /// Whether anything of it is in flight.
  package var isInFlight: Bool {
    switch state {
    case .running, .sending: true
    case .queued, .held, .awaitingAuth, .settled: false
    }
  }

  /// Whether it waits for credentials, or did until a header patch let it go.
  var isParked: Bool {
    switch state {
    case .awaitingAuth: true
    case .queued, .held, .running, .sending, .settled: false
    }
  }

  /// The attempts in flight, of parts by index.
  package var attemptsInFlight: [AttemptID] {
    switch state {
    case .running(let attempt):
      return [AttemptID(entry: number, generation: generation, ordinal: attempt.ordinal)]
    case .sending:
      return (parts?.open ?? []).filter { $0.state == .inFlight }.map {
        AttemptID(entry: number, generation: $0.generation, ordinal: $0.attempt.ordinal, part: $0.index)
      }
    case .queued, .held, .awaitingAuth, .settled: return []
    }
  }
}
