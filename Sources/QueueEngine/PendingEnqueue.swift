import QueueModel
import QueueStore

/// One enqueue, or many that are accepted together, on the way into the store.
struct PendingEnqueue {
  /// Told apart by the first ticket that it took.
  var number: UInt64
  var items: [Incoming]
  var reply: Reply
  /// What workers have of it, by the place of its item.
  var awaited: [StagingTicket: Int] = [:]

  enum Reply {
    case one(Completion<EnqueueAnswer>)
    case all(Completion<[EnqueueAnswer]>)
  }

  /// One of the requests, with what workers have brought for it.
  struct Incoming {
    var enqueue: Enqueue
    /// What the sources looked like, once a worker has said so.
    var stamps: [SourceStamp?]?
    var staged: Staged?
    /// The field whose source was gone.
    var missing: String?
  }

  var ids: [EntryID] { items.map(\.enqueue.id) }

  var oldestHeaderRevision: Int64? { items.compactMap(\.enqueue.headerRevision).min() }

  /// Bodies that no entry has taken yet.
  var stagedBodies: [StagedBody] { items.compactMap { $0.staged?.body } }

  /// Refuses the whole call; of many, the one at `index` is named as the reason.
  func refuse(_ refusal: Refusal, at index: Int? = nil) {
    switch reply {
    case .one(let reply): reply(.failure(refusal))
    case .all(let reply): reply(.failure(index.map { .entry($0, refusal) } ?? refusal))
    }
  }
}

extension EngineState {
  /// The enqueue that waits for this piece of work.
  func pending(awaiting ticket: StagingTicket) -> PendingEnqueue? {
    stagings.values.first { $0.awaited[ticket] != nil }
  }

  /// The least header revision of the enqueues that are on their way.
  var oldestIncomingHeaderRevision: Int64? {
    let waiting = lines.waiting.flatMap(\.command.enqueues).compactMap(\.headerRevision)
    return (waiting + stagings.values.compactMap(\.oldestHeaderRevision)).min()
  }

  /// Ids of enqueues that are on their way into the group.
  func incomingIDs(of group: EntryGroup) -> [EntryID] {
    let waiting = lines.waiting.flatMap(\.command.enqueues)
    let staging = stagings.values.flatMap(\.items).map(\.enqueue)
    return (staging + waiting).filter { $0.group == group }.map(\.id)
  }

  /// Ends the wait for workers of this enqueue. What waited for its ids is to be decided anew.
  mutating func drop(_ pending: PendingEnqueue) -> [Command] {
    stagings[pending.number] = nil
    return lines.letGo(pending.ids)
  }
}
