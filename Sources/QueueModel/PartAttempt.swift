extension Entry {
  /// The part that goes now; nil while none may.
  ///
  /// - Parameter partsAtOnce: Of configure.
  package func nextPart(gates: Gates, partsAtOnce: Int, now: Moment) -> Int? {
    let next = parts?.next(at: now.steady, atOnce: partsAtOnce) { gates.dueTime(of: $0, to: origin) }
    guard let next, next.due <= now.steady else { return nil }
    return next.index
  }

  /// The attempt of a part begins; `attempts` counts it now (D3). Changes nothing unless the entry is queued,
  /// let go by a header patch, or has other parts in flight, and is neither paused, nor waiting for Wi-Fi,
  /// nor past its deadline. Hosts see the first part of them as the transition.
  package func started(
    part index: Int, _ part: PartRequest, requestID: String, gates: Gates, partsAtOnce: Int, now: Moment
  ) -> Decision {
    let standing = gates.standing(of: self)
    guard !isHeld, standing == .queued || standing == .running, !gates.holdsForWifi(request.wifiOnly),
      now.wall < deadline, nextPart(gates: gates, partsAtOnce: partsAtOnce, now: now) == index
    else { return .unchanged(self) }
    var entry = self
    entry.attempts += 1
    entry.noteAttempt(now: now)
    entry.lastRequestID = requestID
    let attempt = Attempt(
      ordinal: entry.attempts, requestID: requestID, headerRevision: gates.headerRevision)
    entry.parts?.begin(attempt, index, generation: generation)
    entry.parts?.latest = Parts.Latest(index: index, url: part.url)
    entry.arrange(gates: gates, partsAtOnce: partsAtOnce, now: now)
    entry.updatedAt = now.wall
    return Decision(entry: entry, effects: isInFlight ? [] : [.state])
  }

  /// The part that may go next is for an origin that takes nothing more now: the entry waits there.
  package func waits(toSend index: Int, _ part: PartRequest, partsAtOnce: Int, gates: Gates, now: Moment)
    -> Decision
  {
    var entry = self
    entry.parts?.latest = Parts.Latest(index: index, url: part.url)
    // A patch that let it go may cover the other origin alone.
    if isParked { entry.state = .queued(Wait(due: now.steady)) }
    entry.arrange(gates: gates, partsAtOnce: partsAtOnce, now: now)
    return Decision(entry: entry)
  }

  /// What an attempt of a part puts on the wire. The part must be in flight.
  package func transmission(
    part index: Int, _ part: PartRequest, gates: Gates, timeouts: Timeouts, outgoing: OutgoingBody
  ) -> Transmission {
    guard let open = parts?.open.first(where: { $0.index == index }), open.state == .inFlight else {
      preconditionFailure("only a part that is in flight is sent")
    }
    var headers = gates.headers(for: self, part: part)
    identify(&headers, idempotencyKey: keyToSend.map { "\($0)-\(index)" }, open.attempt)
    let id = AttemptID(
      entry: number, generation: open.generation, ordinal: open.attempt.ordinal, part: index)
    return Transmission(
      attempt: id, url: part.url, method: request.method, headers: headers, body: outgoing,
      timeouts: timeouts.overlaid(with: request.timeouts), key: key)
  }

  /// An outage has ended, or more or fewer parts may go at once: the next one may go at another time.
  package func rearranged(gates: Gates, partsAtOnce: Int, now: Moment) -> Decision {
    var entry = self
    entry.arrange(gates: gates, partsAtOnce: partsAtOnce, now: now)
    let isTold = entry.state != state && !(isInFlight && entry.isInFlight)
    return Decision(entry: entry, effects: isTold ? [.state] : [])
  }

  /// Puts the state in order after parts began, ended or were accepted: running while any is in flight (D2),
  /// else queued until the next can go. A wait for credentials stays one.
  mutating func arrange(gates: Gates, partsAtOnce: Int, now: Moment) {
    guard let parts else { return }
    let origin = origin
    func due(_ wait: Wait) -> Int64 { gates.dueTime(of: wait, to: origin) }
    if parts.hasInFlight {
      let next = now.wall < deadline ? parts.next(at: now.steady, atOnce: partsAtOnce, due: due) : nil
      state = .sending(next: next?.due)
      return
    }
    switch state {
    case .queued, .running, .sending:
      let wait = parts.wait(at: now.steady, atOnce: partsAtOnce, due: due)
      state = .queued(wait ?? Wait(due: now.steady))
    case .held, .awaitingAuth, .settled: break
    }
  }
}
