package import QueueModel
import QueueStore

/// `group` events: at most one for a group and interval, the last value always.
extension Turn {
  /// Groups told in one turn of a gate that has moved.
  private static let groupsAtOnce = 64

  /// Tells of groups that changed in this turn, or whose value was held back for long enough.
  mutating func tellGroups(_ writer: Writer) throws(StoreError) {
    guard state.connections.values.contains(where: { $0.subscription?.kinds.contains(.group) == true }) else {
      state.groupsTold = [:]
      state.groupWalk = nil
      return
    }
    try goOnTellingAll(writer)
    for (group, throttle) in state.groupsTold {
      switch throttle {
      case .rests(let until) where until <= now.steady: state.groupsTold[group] = nil
      case .holdsBack(let until) where until <= now.steady: groupsToTell.insert(group)
      case .rests, .holdsBack: break
      }
    }
    for group in groupsToTell.sorted() {
      if let until = state.groupsTold[group]?.until, until > now.steady {
        state.groupsTold[group] = .holdsBack(until: until)
      } else {
        try tell(group, writer)
      }
    }
  }

  /// A gate that many groups may stand behind has moved: all of them are told, some in each turn.
  private mutating func goOnTellingAll(_ writer: Writer) throws(StoreError) {
    guard let after = state.groupWalk else { return }
    let page = try writer.liveGroups(after: after, limit: Turn.groupsAtOnce)
    groupsToTell.formUnion(page.map(\.name))
    state.groupWalk = page.count == Turn.groupsAtOnce ? page.last?.number : nil
  }

  private mutating func tell(_ group: EntryGroup, _ writer: Writer) throws(StoreError) {
    state.groupsTold[group] = nil
    guard let (number, found) = try writer.group(named: group) else { return }
    let members = try writer.members(of: number)
    let status = state.status(of: found, members)
    let keys = Set(members.map(\.bucket.key)).union([found.key])
    if found.settled == nil {
      state.groupsTold[group] = .rests(until: now.steady + ProgressThrottle.intervalMs)
    }
    for (id, connection) in state.connections {
      guard let subscription = connection.subscription, subscription.kinds.contains(.group),
        keys.contains(where: subscription.covers)
      else { continue }
      then(.tell(id, .group(status)))
    }
  }
}

/// When a group may be told of again, queue time in ms.
enum GroupThrottle {
  case rests(until: Int64)
  /// A newer value waits.
  case holdsBack(until: Int64)

  var until: Int64 {
    switch self {
    case .rests(let until), .holdsBack(let until): until
    }
  }

  /// When a value that waits may go.
  var due: Int64? {
    switch self {
    case .rests: nil
    case .holdsBack(let until): until
    }
  }
}

extension EngineState {
  /// The group with its members by derived state, and what attempts in flight have sent (D1).
  func status(of group: Group, _ members: [(bucket: Bucket, counts: MemberCounts)]) -> GroupStatus {
    var status = gates.status(of: group, members)
    for sending in sendings.values where sending.group == group.name {
      let sent = Double(sending.bytesSent - sending.storedBytes)
      status.progress.bytesSent += sent
      if sending.totalBytes > 0 {
        status.progress.done += sending.weight * sent / Double(sending.totalBytes)
      }
    }
    return status
  }
}

/// Why a group waits, as `explain` tells it.
package struct GroupExplanation: Sendable {
  package var status: GroupStatus
  /// Live members, oldest first, at most `Group.explainedMembers`.
  package var entries: [(id: EntryID, explanation: Explanation)]
}

extension QueueEngine {
  /// nil for a group that has no member and no outcome.
  func explain(_ group: EntryGroup) throws(StoreError) -> GroupExplanation? {
    guard let (number, found) = try store.reader.group(named: group) else { return nil }
    var entries: [(id: EntryID, explanation: Explanation)] = []
    for entry in try store.reader.liveMembers(of: number, after: 0, limit: Group.explainedMembers) {
      entries.append((entry.id, try explanation(of: entry)))
    }
    return GroupExplanation(
      status: state.status(of: found, try store.reader.members(of: number)), entries: entries)
  }
}
