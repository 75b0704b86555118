import JSONRPC
import JSONText
import OuttrayProtocol
import QueueEngine
import QueueModel

/// What one connection still has to read, in order. Bounded for a host that does not read: replies are kept,
/// outcomes are bounded by their window, `state`, `progress` and `group` keep the newest value of an id or
/// group, attempts are dropped.
struct Outbox {
  private enum Item {
    case frame([UInt8], isReply: Bool)
    /// The row, or progress, of the id that has this ticket. Any other was replaced by a newer one, which
    /// stands further behind, so that no event overtakes another about the same id.
    case row(EntryID, ticket: UInt64)
    case progress(EntryID, ticket: UInt64)
    case group(EntryGroup, ticket: UInt64)
    case resync
    case taken
  }

  private struct Waiting<Value> {
    var value: Value
    var ticket: UInt64
  }

  private var items: [Item] = []
  private var first = 0
  /// Items whose row or progress was replaced.
  private var replaced = 0
  private var lastTicket: UInt64 = 0
  /// Bytes of whole frames in the queue.
  private(set) var bytes = 0
  /// Bytes of replies among them.
  private(set) var replyBytes = 0
  private var rows: [EntryID: Waiting<Row>] = [:]
  /// Bytes of the rows that wait.
  private(set) var rowBytes = 0
  private var progress: [EntryID: Waiting<(sent: Int64, total: Int64)>] = [:]
  private var groups: [EntryGroup: Waiting<GroupStatus>] = [:]
  private var needsResync = false
  /// Attempt events, progress and groups that were left out.
  private(set) var dropped: Int64 = 0

  /// Unwritten bytes from which events are merged.
  static let mergeBytes = 256 << 10
  /// Ids whose newest value is kept.
  static let mergeLimit = Limits.mergedIds
  /// Bytes of the rows kept for them, one row at least: vars can be large.
  static let mergeRowBytes = 4 << 20

  var isEmpty: Bool { first == items.count }

  /// Places in the queue, those of replaced values included.
  var places: Int { items.count - first }

  /// The reader is behind, so that events of a walk can wait.
  var isBehind: Bool { bytes > 64 << 10 }

  /// A reply. Before one about entries, older rows of them that still wait are left out: the reply has newer
  /// ones.
  mutating func reply(_ frame: [UInt8], about ids: [EntryID] = []) {
    for id in ids { removeRow(of: id) }
    append(frame, isReply: true)
  }

  mutating func event(_ event: HostEvent) {
    switch event {
    case .state(let row): add(row)
    case .progress(let id, let sent, let total): add(id, sent, total)
    case .attempt(let attempt):
      if bytes > Outbox.mergeBytes { dropped += 1 } else { append(Notifications.attempt(attempt)) }
    case .settled(let outcome, let deliveries): append(Notifications.settled(outcome, deliveries: deliveries))
    case .group(let status): add(status)
    case .groupSettled(let outcome, let deliveries):
      append(Notifications.groupSettled(outcome, deliveries: deliveries))
    case .resync: resync()
    }
  }

  private mutating func append(_ frame: [UInt8], isReply: Bool = false) {
    items.append(.frame(frame, isReply: isReply))
    bytes += frame.count
    if isReply { replyBytes += frame.count }
  }

  private mutating func add(_ row: Row) {
    removeRow(of: row.id)
    guard bytes > Outbox.mergeBytes else { return append(Notifications.state(row)) }
    guard !needsResync else { return }
    let fits = rows.isEmpty || rowBytes + row.size <= Outbox.mergeRowBytes
    guard fits && rows.count < Outbox.mergeLimit else { return resync() }
    rows[row.id] = Waiting(value: row, ticket: nextTicket())
    rowBytes += row.size
    items.append(.row(row.id, ticket: lastTicket))
  }

  private mutating func removeRow(of id: EntryID) {
    guard let old = rows.removeValue(forKey: id) else { return }
    rowBytes -= old.value.size
    noteReplaced()
  }

  private mutating func add(_ id: EntryID, _ sent: Int64, _ total: Int64) {
    if progress.removeValue(forKey: id) != nil { noteReplaced() }
    guard bytes > Outbox.mergeBytes else {
      return append(Notifications.progress(id, sent: sent, total: total))
    }
    guard progress.count < Outbox.mergeLimit else {
      dropped += 1
      return
    }
    progress[id] = Waiting(value: (sent, total), ticket: nextTicket())
    items.append(.progress(id, ticket: lastTicket))
  }

  private mutating func add(_ status: GroupStatus) {
    if groups.removeValue(forKey: status.group) != nil { noteReplaced() }
    guard bytes > Outbox.mergeBytes else { return append(Notifications.group(status)) }
    guard groups.count < Outbox.mergeLimit else {
      dropped += 1
      return
    }
    groups[status.group] = Waiting(value: status, ticket: nextTicket())
    items.append(.group(status.group, ticket: lastTicket))
  }

  private mutating func nextTicket() -> UInt64 {
    lastTicket += 1
    return lastTicket
  }

  /// One `resync` stands for all rows that wait.
  private mutating func resync() {
    replaced += rows.count
    rows = [:]
    rowBytes = 0
    guard !needsResync else { return }
    needsResync = true
    items.append(.resync)
  }

  /// Keeps the places of replaced values from piling up while nothing is taken.
  private mutating func noteReplaced() {
    replaced += 1
    guard replaced > 4 * Outbox.mergeLimit else { return }
    items = items[first...].filter { item in
      switch item {
      case .frame, .resync: true
      case .row(let id, let ticket): rows[id]?.ticket == ticket
      case .progress(let id, let ticket): progress[id]?.ticket == ticket
      case .group(let group, let ticket): groups[group]?.ticket == ticket
      case .taken: false
      }
    }
    first = 0
    replaced = 0
  }

  /// The next bytes to write: whole frames, about `limit` bytes of them.
  mutating func take(limit: Int) -> [UInt8] {
    var taken: [UInt8] = []
    while first < items.count && taken.count < limit {
      let item = items[first]
      items[first] = .taken
      first += 1
      switch item {
      case .frame(let frame, let isReply):
        if taken.isEmpty { taken = frame } else { taken += frame }
        bytes -= frame.count
        if isReply { replyBytes -= frame.count }
      case .row(let id, let ticket):
        guard let row = rows[id], row.ticket == ticket else { continue }
        rows[id] = nil
        rowBytes -= row.value.size
        taken += Notifications.state(row.value)
      case .progress(let id, let ticket):
        guard let waiting = progress[id], waiting.ticket == ticket else { continue }
        progress[id] = nil
        taken += Notifications.progress(id, sent: waiting.value.sent, total: waiting.value.total)
      case .group(let group, let ticket):
        guard let waiting = groups[group], waiting.ticket == ticket else { continue }
        groups[group] = nil
        taken += Notifications.group(waiting.value)
      case .resync:
        needsResync = false
        taken += Notifications.resync()
      case .taken: continue
      }
    }
    if first == items.count {
      items.removeAll(keepingCapacity: items.count < 4096)
      first = 0
      replaced = 0
    } else if first > 4096 {
      items.removeFirst(first)
      first = 0
    }
    return taken
  }
}
