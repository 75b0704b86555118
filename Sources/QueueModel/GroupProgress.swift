package import JSONText

/// How far a group is, by the weights of its members: sums that are kept, never counted anew.
package struct GroupProgress: Sendable, Equatable {
  package var weight: Double = 0
  /// Weights times what is done of each.
  package var done: Double = 0
  /// Bodies, bytes. Beyond 2^53 the last digits are lost, and nothing else.
  package var bytesSent: Double = 0
  package var totalBytes: Double = 0

  package init() {}

  /// Adds a member, or with -1 takes it out.
  package mutating func count(_ entry: Entry, by step: Double) {
    weight += step * entry.weightInGroup
    done += step * entry.weightInGroup * entry.shareDone
    bytesSent += step * Double(entry.bytesSent)
    totalBytes += step * Double(entry.body.length)
  }

  /// 0 to 1, in millionths, so that what sums of fractions lose is not seen.
  package var value: Double {
    let share = done / weight
    // A damaged row can hold infinities, of which no share can be told.
    guard weight > 0, !share.isNaN else { return 0 }
    return (min(max(share, 0), 1) * 1e6).rounded() / 1e6
  }
}

/// A group as its host sees it: the `group` event.
package struct GroupStatus: Sendable, Equatable {
  package var group: EntryGroup
  /// Members by state (D1), also those whose rows have gone.
  package var counts: [Row.State: Int64]
  package var progress: GroupProgress

  package init(group: EntryGroup, counts: [Row.State: Int64], progress: GroupProgress) {
    self.group = group
    self.counts = counts
    self.progress = progress
  }

  /// Bytes in a frame, near enough.
  package var size: Int { group.text.utf8.count + 240 }

  package func write(into writer: inout JSONWriter) {
    writer.object {
      writeMembers(into: &$0)
      $0.member("bytesSent", GroupStatus.whole(progress.bytesSent))
      $0.member("totalBytes", GroupStatus.whole(progress.totalBytes))
    }
  }

  /// `group`, `counts` and `progress`.
  package func writeMembers(into object: inout JSONWriter) {
    object.member("group", group.text)
    object.member("counts") { counts in
      counts.object {
        for state in Row.State.allCases { $0.member(state.rawValue, self.counts[state] ?? 0) }
      }
    }
    object.member("progress", progress.value)
  }

  private static func whole(_ bytes: Double) -> Int64 {
    Int64(min(max(bytes, 0), Double(Bounds.integer)))
  }
}
