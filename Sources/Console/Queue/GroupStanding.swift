import JSONText
import QueueModel
import QueueStore

/// How far a group is and what holds its members back: told by the live engine, else by the database.
struct GroupStanding {
  /// As the result of `explain`, with `served: false` where the database told it.
  let told: JSON

  init(of group: EntryGroup, in queue: StoredQueue, _ live: LiveQueue?) throws(Failure) {
    if let told = try live?.explain("group", group.text, orThrow: GroupStanding.nobody(group)) {
      self.told = told
    } else {
      told = try GroupStanding.stored(group, in: queue)
    }
  }

  private static func nobody(_ group: EntryGroup) -> Failure {
    Failure(Status.no, "\(Printable.text(group.text)): names no group")
  }

  private static func stored(_ group: EntryGroup, in queue: StoredQueue) throws(Failure) -> JSON {
    let found = try queue.ask { reader throws(StoreError) in try reader.group(named: group) }
    guard let (number, found) = found else { throw nobody(group) }
    let (members, live) = try queue.ask { reader throws(StoreError) in
      (
        try reader.members(of: number),
        try reader.liveMembers(of: number, after: 0, limit: Group.explainedMembers)
      )
    }
    let status = queue.gates.status(of: found, members)
    var entries: [(id: EntryID, explanation: Explanation)] = []
    for entry in live { entries.append((entry.id, try Explanation(of: entry, in: queue))) }
    return JSON { result in
      result.object {
        status.writeMembers(into: &$0)
        $0.member("entries") { list in
          list.array { list in
            for (id, explanation) in entries { list.object { explanation.write(of: id.text, into: &$0) } }
          }
        }
        $0.member("served", false)
      }
    }
  }

  // MARK: For people

  /// - Parameter now: Wall clock, ms.
  func lines(now: Int64) -> [String] {
    let isServed = told["served"]?.bool ?? true
    let percent = Int(((told["progress"]?.double ?? 0) * 100).rounded(.down))
    let name = Printable.text(told["group"]?.string ?? "")
    var lines = ["Group \(name): \(Printable.text(OpenEvent.counts(of: told))); \(percent) % is done."]
    let entries = Array((told["entries"] ?? .null).elements())
    for entry in entries {
      let standing = Explanation(telling: entry, isServed: isServed)
      lines += ["", standing.sentences(of: Printable.text(entry["id"]?.string ?? ""), now: now)]
    }
    if entries.isEmpty { lines.append("Nothing of it is left to send: every member has settled.") }
    if entries.count == Group.explainedMembers {
      lines += ["", "More members may wait; outtray ls --group lists all."]
    }
    return lines
  }
}
