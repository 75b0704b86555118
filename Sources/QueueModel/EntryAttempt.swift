extension Entry {
  /// The next attempt begins; `attempts` counts it now (D3). Changes nothing unless the entry is queued, or
  /// let go by a header patch, and neither paused, nor waiting for Wi-Fi, nor past its deadline.
  package func started(requestID: String, gates: Gates, now: Moment) -> Decision {
    guard !isHeld, gates.standing(of: self) == .queued, !gates.holdsForWifi(request.wifiOnly),
      now.wall < deadline
    else {
      return .unchanged(self)
    }
    var entry = self
    entry.attempts += 1
    entry.noteAttempt(now: now)
    entry.bytesSent = 0
    entry.lastRequestID = requestID
    entry.state = .running(
      Attempt(ordinal: entry.attempts, requestID: requestID, headerRevision: gates.headerRevision))
    entry.updatedAt = now.wall
    return Decision(entry: entry, effects: [.state])
  }

  /// What the attempt in flight puts on the wire. The entry must be running, its request expanded (D46).
  ///
  /// - Parameter timeouts: Of configure; the entry's own go over them.
  package func transmission(gates: Gates, timeouts: Timeouts, outgoing: OutgoingBody) -> Transmission {
    guard case .running(let attempt) = state, let id = attemptsInFlight.first, let url = request.url else {
      preconditionFailure("only an entry that runs is sent")
    }
    var headers = gates.headers(for: self)
    if let contentType = body.contentType {
      switch body.kind {
      // The boundary in it is ours.
      case .form: headers.set("Content-Type", contentType)
      case .none, .data, .file, .parts:
        if headers["Content-Type"] == nil { headers.set("Content-Type", contentType) }
      }
    }
    identify(&headers, idempotencyKey: keyToSend, attempt)
    return Transmission(
      attempt: id, url: url, method: request.method, headers: headers, body: outgoing,
      timeouts: timeouts.overlaid(with: request.timeouts), key: key)
  }

  /// The caller's own Idempotency-Key stands (D19); the request id is ours alone.
  func identify(_ headers: inout HeaderFields, idempotencyKey: String?, _ attempt: Attempt) {
    if let idempotencyKey, headers["Idempotency-Key"] == nil {
      headers.set("Idempotency-Key", idempotencyKey)
    }
    headers.set("X-Request-Id", attempt.requestID)
  }

  var keyToSend: String? {
    switch request.idempotencyKey {
    case .automatic: idempotencyKey
    case .off: nil
    case .given(let key): key
    }
  }

  /// A gate closed over what is in flight: the entry goes back to the queue, with its failure counts and
  /// without an attempt event (D1, D11).
  package func stopped(now: Moment) -> Decision {
    guard isInFlight else { return .unchanged(self) }
    return Decision(entry: backInQueue(now: now), effects: stopEffects + [.state])
  }

  /// The entry was found in flight at the start of the process: it may have been sent, and is sent again.
  package func orphaned(now: Moment) -> Decision {
    guard isInFlight else { return .unchanged(self) }
    return Decision(entry: backInQueue(now: now), effects: [.state])
  }

  /// Ends everything that is in flight.
  var stopEffects: [Effect] { attemptsInFlight.map { .stop($0) } }

  private func backInQueue(now: Moment) -> Entry {
    var entry = self
    entry.parts?.stop(now: now)
    entry.state = .queued(Wait(due: now.steady))
    entry.updatedAt = now.wall
    return entry
  }
}
