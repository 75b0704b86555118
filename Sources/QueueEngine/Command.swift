package import QueueModel
package import QueueStore

/// Answers one request of a host, once, after what it says is committed. Called on the database thread.
package typealias Completion<Value: Sendable> = @Sendable (Result<Value, Refusal>) -> Void

/// Why a request was not carried out; nothing was changed.
package enum Refusal: Error, Sendable {
  case invalid(InvalidInput)
  /// Same id, another body, and the entry is running.
  case running
  /// A source file is missing or cannot be read; `path` is the field's.
  case fileMissing(InvalidInput)
  /// The store cannot be written; the same call with the same id is safe to repeat (D36).
  case storage(String)
  /// The process is ending; nothing was kept of the call.
  case shutdown
  /// Of many requests, the one at this place was refused, and with it all of them (D50).
  indirect case entry(Int, Refusal)
}

/// The far end of one connection, as far as the engine cares.
package protocol Host: AnyObject, Sendable {
  /// Takes an event without waiting. Called on the database thread.
  func receive(_ event: HostEvent)

  /// True while the host is behind in reading; events of a walk wait until `Command.caughtUp`.
  var isBehind: Bool { get }
}

/// What a host is told unasked, after it subscribed.
package enum HostEvent: Sendable {
  case state(Row)
  case progress(id: EntryID, bytesSent: Int64, totalBytes: Int64)
  case attempt(AttemptEvent)
  /// `deliveries` counts this one in.
  case settled(Outcome, deliveries: Int64)
  case group(GroupStatus)
  /// `deliveries` counts this one in.
  case groupSettled(GroupOutcome, deliveries: Int64)
  /// State events were left out; the host has to read the rows again.
  case resync
}

/// What a pause or its end is about.
package struct PauseScope: Sendable {
  package var keys: Set<EntryKey>
  package var groups: Set<EntryGroup>

  package init(keys: Set<EntryKey> = [], groups: Set<EntryGroup> = []) {
    self.keys = keys
    self.groups = groups
  }
}

/// What a host subscribes to; replaces what it had.
package struct Subscription: Sendable {
  package enum Kind: String, Sendable, CaseIterable {
    case state, progress, attempt, settled, group, groupSettled
  }

  package var kinds: Set<Kind>
  /// nil is every key.
  package var keys: Set<EntryKey>?
  /// Outcomes out at once, neither acknowledged nor released: 1 to 1024.
  package var window: Int

  package init(kinds: Set<Kind>, keys: Set<EntryKey>?, window: Int) {
    self.kinds = kinds
    self.keys = keys
    self.window = window
  }

  /// Whether it asks for what the journal holds, at least for one kind of it.
  var wantsRecords: Bool { kinds.contains(.settled) || kinds.contains(.groupSettled) }

  func wants(_ record: Record) -> Bool {
    switch record {
    case .entry: kinds.contains(.settled)
    case .group: kinds.contains(.groupSettled)
    }
  }

  func covers(_ key: EntryKey) -> Bool {
    keys?.contains(key) ?? true
  }
}

/// The answer to an accepted `enqueue`.
package struct EnqueueAnswer: Sendable {
  package enum Disposition: String, Sendable {
    case created, resumed, replaced, reopened, redelivered, kept
  }

  package var generation: Int64
  package var disposition: Disposition
  package var row: Row
}

/// Which rows a `getRequests` asks for.
package struct RowQuery: Sendable {
  package var key: EntryKey?
  package var id: EntryID?
  package var state: Row.State?
  package var group: EntryGroup?
  /// Rows of one page, 1 to 1000.
  package var limit: Int
  /// The last row of the page before; 0 begins.
  package var after: Int64

  package init(
    key: EntryKey? = nil, id: EntryID? = nil, state: Row.State? = nil, group: EntryGroup? = nil,
    limit: Int = 1000, after: Int64 = 0
  ) {
    self.key = key
    self.id = id
    self.state = state
    self.group = group
    self.limit = limit
    self.after = after
  }
}

/// One page of rows by creation number.
package struct RowPage: Sendable {
  package var rows: [Row]
  /// Where the next page begins; nil when this was the last.
  package var next: Int64?
}

/// What reaches the engine, in the order in which it takes effect.
package enum Command: Sendable {
  case connected(HostID, any Host)
  case disconnected(HostID)
  case caughtUp(HostID)

  case enqueue(Enqueue, from: HostID, Completion<EnqueueAnswer>)
  /// All of them or none; no two have the same id (D50). Answers in the same order.
  case enqueueAll([Enqueue], from: HostID, Completion<[EnqueueAnswer]>)
  case cancel(EntryID, Completion<Void>)
  case retry(EntryID, Completion<Row>)
  /// Every member; answered when all are settled, or forgotten.
  case cancelGroup(EntryGroup, Completion<Void>)
  /// nil is the whole queue.
  case pause(PauseScope?, Completion<Void>)
  case resume(PauseScope?, Completion<Void>)
  case setWifiOnly(Bool, Completion<Void>)
  /// nil leaves it to detection (D34).
  case setNetwork(Network?, from: HostID, Completion<Void>)
  case updateHeaders(HeaderFields, keys: Set<EntryKey>?, origin: Origin?, Completion<Void>)
  case configure(ConfigurationChange, from: HostID, Completion<Void>)
  case subscribe(Subscription, from: HostID, Completion<Void>)
  case unsubscribe(from: HostID, Completion<Void>)
  case acknowledge([String], from: HostID, Completion<Void>)
  case release([String], from: HostID, Completion<Void>)
  case rows(RowQuery, Completion<RowPage>)
  case diagnostics(Completion<[Diagnostic]>)
  case stats(Completion<Stats>)
  /// nil for an id that nobody has.
  case explain(EntryID, Completion<Explanation?>)
  /// nil for a group that nobody belongs to.
  case explainGroup(EntryGroup, Completion<GroupExplanation?>)

  /// What the machine is connected by from now on (D34). `isNewRoute`: there is a way out that was not there
  /// before, which ends outages (D16).
  case networkDetected(Network, isNewRoute: Bool)
  /// Something outside the engine went wrong that whoever looks after the queue should know.
  case noticed(Diagnostic.Level, String, error: String)
  case staged(StagingTicket, Result<StagingProduct, StageError>)
  case report(AttemptID, TransportReport)
  /// What lies beside the database is counted (D37).
  case swept(OrphanReport, BootRecord)
  /// A deadline that the engine had named has come, or the wall clock was set.
  case tick
  /// Nothing is accepted or sent from now on.
  case finish
  /// Bodies that workers still have are given up: their requests are refused, and what comes of them is
  /// discarded.
  case giveUp
}

/// Names one piece of staging work.
package struct StagingTicket: Hashable, Sendable {
  package let number: UInt64

  package init(number: UInt64) { self.number = number }
}

/// What a worker made.
package enum StagingProduct: Sendable {
  case body(Staged)
  /// What the source paths look like now, in the order of the descriptor; nil where none is a regular file
  /// (D5).
  case stamps([SourceStamp?])
}

/// What a worker is asked for.
package struct StagingWork: Sendable {
  package enum Kind: Sendable {
    case body, stamps
  }

  package var ticket: StagingTicket
  package var kind: Kind
  package var request: Descriptor

  package init(ticket: StagingTicket, kind: Kind, request: Descriptor) {
    self.ticket = ticket
    self.kind = kind
    self.request = request
  }
}
