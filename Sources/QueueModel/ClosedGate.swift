package import JSONText

/// One thing that holds an entry back now (protocol.md section 2, `explain`).
package struct ClosedGate: Sendable, Equatable {
  package var gate: Name
  /// For people.
  package var detail: String
  /// Wall clock, ms, where it is known when it opens.
  package var until: Int64?

  /// By wire name.
  package enum Name: String, Sendable, CaseIterable {
    /// The whole queue is paused.
    case queue
    /// Its key is paused.
    case key
    /// Its group is paused.
    case group
    /// Entries that it comes after have not completed (D45).
    case dependency
    /// Another one of its lane goes first (D47).
    case lane
    case network, credentials, backoff, outage
    /// All transmissions that it may take are taken.
    case slots
    /// Its origin has as many as it may have.
    case origin
    /// The database cannot be written, or is damaged.
    case store
  }

  package init(_ gate: Name, _ detail: String, until: Int64? = nil) {
    self.gate = gate
    self.detail = detail
    self.until = until
  }

  package func write(into writer: inout JSONWriter) {
    writer.object {
      $0.member("gate", gate.rawValue)
      $0.member("detail", detail)
      if let until { $0.member("until", until) }
    }
  }
}

extension Gates {
  /// Everything that holds a queued or parked entry back, what a person can change first. Nothing holds back
  /// one that runs or has settled.
  package func closed(for entry: Entry, slots: Slots, now: Moment) -> [ClosedGate] {
    guard entry.isLive, !entry.isInFlight else { return [] }
    var closed = closedBySettings(for: entry)
    // What it will find when the others let it go is not known.
    if entry.isHeld { return closed }
    switch entry.state {
    case .awaitingAuth where dueTime(of: entry) == nil:
      return closed + [
        ClosedGate(.credentials, "the server refused the credentials; updateHeaders lets it go")
      ]
    case .queued(let wait):
      if let due = dueTime(of: entry), due > now.steady, wait.isBackoff {
        closed.append(
          ClosedGate(
            .backoff, "waits after a failed attempt, as long as backoff or the server says",
            until: min(now.wall(at: due), entry.deadline)))
      }
    case .held, .awaitingAuth, .running, .sending, .settled: break
    }
    return closed + closedByLoad(for: entry, slots, now: now)
  }

  private func closedBySettings(for entry: Entry) -> [ClosedGate] {
    var closed: [ClosedGate] = []
    if paused { closed.append(ClosedGate(.queue, "the whole queue is paused")) }
    if pausedKeys.contains(entry.key) { closed.append(ClosedGate(.key, "its key is paused")) }
    if let group = entry.group, pausedGroups.contains(group) {
      closed.append(ClosedGate(.group, "its group is paused"))
    }
    if holdsForWifi(entry.request.wifiOnly) {
      let found = network.kind == .none ? "there is no network" : "the network is \(network.kind.rawValue)"
      let metered = network.isMetered ? ", metered" : ""
      closed.append(
        ClosedGate(.network, "waits for wifi or ethernet that is not metered; \(found)\(metered)"))
    }
    return closed
  }

  private func closedByLoad(for entry: Entry, _ slots: Slots, now: Moment) -> [ClosedGate] {
    let origin = entry.origin ?? Origin(text: "")
    var closed: [ClosedGate] = []
    if hasOutage(origin), slots.running(to: origin) > 0 {
      closed.append(ClosedGate(.outage, "\(origin.text) cannot be reached; one attempt at a time tries it"))
    } else if !slots.admits(origin, at: now.steady) {
      closed.append(closedByCircuit(to: origin, slots, now: now))
    } else if slots.isFull(origin) {
      let most = slots.limit(of: origin)
      let number = most == 1 ? "the one transmission" : "the \(most) transmissions"
      closed.append(ClosedGate(.origin, "\(origin.text) has \(number) that it may have now"))
    }
    if !slots.hasRoom(for: entry.request.priority, to: origin) {
      closed.append(ClosedGate(.slots, "all transmissions that its priority may use are taken"))
    }
    return closed
  }

  private func closedByCircuit(to origin: Origin, _ slots: Slots, now: Moment) -> ClosedGate {
    if let until = slots.origins[origin]?.circuit.restsUntil, until > now.steady {
      return ClosedGate(
        .outage, "\(origin.text) fails and is left alone for a while", until: now.wall(at: until))
    }
    return ClosedGate(.outage, "\(origin.text) fails; one attempt at a time tries it")
  }
}
