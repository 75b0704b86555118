import QueueModel
import QueueStore

/// Entries that belong together (D48): what a turn does with a group as a whole, once its members are
/// written.
extension Turn {
  /// Members looked at in one turn beyond which the next turn goes on.
  private static let slice = 128

  /// Notes which groups have settled in this turn, or have gone on, or are gone.
  mutating func settleGroups(_ writer: Writer) throws(StoreError) {
    for number in writer.changedGroups() {
      guard let group = try writer.group(number) else { continue }
      groupsToTell.insert(group.name)
      switch group.course(hasSettled: writer.hasSettledMember(number)) {
      case .goesOn: break
      case .reopens: try writer.save(group.reopened(), number: number)
      case .goes: try writer.deleteGroup(number)
      case .settles: try settle(group, number, writer)
      case .settlesAgain: try settle(group.reopened(), number, writer)
      }
    }
  }

  private mutating func settle(_ group: Group, _ number: Int64, _ writer: Writer) throws(StoreError) {
    let failed = try writer.failedMembers(of: number, limit: Group.failedLimit)
    let (settled, outcome) = group.settled(failed: failed, now: now, randomness: engine.randomness)
    try writer.save(settled, number: number)
    try journal(.group(outcome), writer)
    // The last value goes out before the outcome.
    state.groupsTold[group.name] = nil
    mustSync()
  }

  /// Rows that were kept for groups whose outcome is acknowledged, some of them: they go (D42).
  mutating func forgetMembers(_ writer: Writer) throws(StoreError) {
    guard state.mayHaveKept else { return }
    guard let kept = try writer.takeKeptOfSettled(limit: Turn.slice) else {
      state.mayHaveKept = false
      return
    }
    for entry in kept { try forgetIfUnneeded(entry, writer) }
  }

  // MARK: Limits

  /// Settles waiting members of groups whose limit has passed (D49).
  mutating func settleOverdue(_ writer: Writer) throws(StoreError) {
    guard !state.gates.paused else { return }
    let limit = Turn.slice
    let overdue = try writer.overdueMembers(at: now.wall, limit: limit, where: state.mayExpire)
    try expire(overdue, writer)
    if overdue.count == limit { state.hasDueLeft = true }
  }

  // MARK: Setting apart

  /// Sets members of paused groups apart, and puts others back, some of them. Until all are, the buckets that
  /// they are counted in stand still, so that none of them is sent.
  mutating func setApart(_ writer: Writer) throws(StoreError) {
    guard let group = state.unsorted.first else { return }
    let isPaused = state.gates.pausedGroups.contains(group)
    if try writer.setApart(group, isPaused: isPaused, limit: 4 * Turn.slice) { state.unsorted.remove(group) }
    state.splitting = Set(try state.misplaced(writer).keys)
  }

  // MARK: Cancelling

  /// Cancels the live members there are, or, of a group that has settled, forgets them; answers when all of
  /// them are.
  mutating func cancel(_ group: EntryGroup, _ reply: @escaping Completion<Void>, _ writer: Writer)
    throws(StoreError)
  {
    guard let (number, found) = try writer.group(named: group) else { return answer(reply, ()) }
    state.groupCancels.append(
      GroupCancel(
        number: number, through: writer.lastNumber, forgets: found.live == 0, reply: reply))
    if state.groupCancels.count == 1 { try goOnCancelling(writer) }
  }

  mutating func goOnCancelling(_ writer: Writer) throws(StoreError) {
    guard var cancel = state.groupCancels.first else { return }
    let members =
      cancel.forgets
      ? try writer.members(of: cancel.number, after: cancel.after, limit: Turn.slice)
      : try writer.liveMembers(of: cancel.number, after: cancel.after, limit: Turn.slice)
    for entry in members where entry.number <= cancel.through && entry.isLive != cancel.forgets {
      try self.cancel(current(entry), writer)
    }
    cancel.after = members.last?.number ?? .max
    guard members.count == Turn.slice, cancel.after < cancel.through else {
      state.groupCancels.removeFirst()
      if cancel.forgets { try forget(cancel, writer) }
      mustSync()
      return answer(cancel.reply, ())
    }
    state.groupCancels[0] = cancel
  }

  /// The members of a settled group are forgotten, and with them the group and its outcome, unless others
  /// have joined meanwhile.
  private mutating func forget(_ cancel: GroupCancel, _ writer: Writer) throws(StoreError) {
    guard let group = try writer.group(cancel.number), let settled = group.settled, group.rows == 0 else {
      return
    }
    if let (number, _) = try writer.outcome(eventID: settled.eventID) {
      try writer.deleteOutcome(number)
      state.letGo(settled.eventID)
    }
    try writer.deleteGroup(cancel.number)
  }

  /// The process ends before all are cancelled; those that are stay so.
  mutating func refuseGroupCancels() {
    for cancel in state.groupCancels { refuse(cancel.reply, .shutdown) }
    state.groupCancels = []
  }
}

extension EngineState {
  /// Members of paused groups that wait and are counted among others still, by the number of the bucket.
  func misplaced(_ reader: Reader) throws(StoreError) -> [Int64: MemberCounts] {
    try reader.misplaced(of: unsorted.intersection(gates.pausedGroups))
  }
}

/// A group on its way out.
struct GroupCancel {
  var number: Int64
  /// The newest entry there was.
  var through: Int64
  /// Everything had settled already.
  var forgets: Bool
  /// The last member that was looked at.
  var after: Int64 = 0
  var reply: Completion<Void>
}
