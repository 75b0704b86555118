package import JSONText

/// What an `enqueue` does to the entry that its id names already (D5 to D8).
package enum SameID: Sendable, Equatable {
  case create
  /// A live entry, the same body.
  case resume
  /// Another body in place of one that is not running; or cancelled, whose body was let go of. A settled
  /// entry reopens.
  case replace
  /// Settled with an error, the same body.
  case reopen
  /// Completed, the same body: the outcome is delivered again (D8).
  case redeliver(eventID: String)
  /// Completed and acknowledged, the same body, and others need to see that it has completed (D42): nothing
  /// happens.
  case keep
  /// Running, another body: `E_RUNNING`.
  case refuseRunning

  /// Whether the body has to be staged.
  package var needsBody: Bool {
    switch self {
    case .create, .replace: true
    case .resume, .reopen, .redeliver, .keep, .refuseRunning: false
    }
  }

  /// Whether the body has to be staged although it is the same: the entry refers to files of the caller's,
  /// who names them anew, to be looked at again or to be copied from now on (D28).
  package func refreshesReference(of existing: Entry?) -> Bool {
    switch self {
    case .resume, .reopen: existing?.body.place == .reference
    case .create, .replace, .redeliver, .keep, .refuseRunning: false
    }
  }

  /// - Parameters:
  ///   - storedData: The body of `existing` when that is `data`.
  ///   - storedParts: The requests of `existing` when that is in parts.
  ///   - sourceStamps: What the source paths of `incoming` look like now, in the order of the descriptor;
  ///     nil where none is a regular file, and nil as a whole when nobody looked.
  package static func rule(
    for incoming: Enqueue, existing: Entry?, storedData: JSON?, storedParts: [PartRequest]? = nil,
    sourceStamps: [SourceStamp?]?
  ) -> SameID {
    guard let existing else { return .create }
    let isSame = existing.hasSameBody(
      as: incoming.request, storedData: storedData, storedParts: storedParts, sourceStamps: sourceStamps)
    switch existing.state {
    case .queued, .held, .awaitingAuth: return isSame ? .resume : .replace
    case .running, .sending: return isSame ? .resume : .refuseRunning
    case .settled(.cancelled, _): return .replace
    case .settled(.error, _): return isSame ? .reopen : .replace
    case .settled(.completed, let eventID):
      guard isSame else { return .replace }
      return existing.kept == nil ? .redeliver(eventID: eventID) : .keep
    }
  }
}

extension Entry {
  /// Whether `incoming` sends the same body as this entry: kind, content, url and method (D5).
  func hasSameBody(
    as incoming: Descriptor, storedData: JSON?, storedParts: [PartRequest]?, sourceStamps: [SourceStamp?]?
  ) -> Bool {
    guard request.method == incoming.method, request.url == incoming.url,
      isSame(incoming.body, storedData: storedData, storedParts: storedParts)
    else { return false }
    guard let sourceStamps, !sourceStamps.isEmpty else { return true }
    guard sourceStamps.count == body.sources.count else { return false }
    // A source that is gone compares by its path alone.
    return zip(sourceStamps, body.sources).allSatisfy { now, staged in now?.looksLike(staged) ?? true }
  }

  /// Of `data` that was let go of, its digest tells (D42).
  private func isSame(_ incoming: BodyDescription, storedData: JSON?, storedParts: [PartRequest]?) -> Bool {
    if case (.data(let data), .data) = (incoming, request.body), let digest = kept?.dataDigest {
      return data.equivalenceDigest == digest
    }
    return incoming.isSame(as: request.body, storedData: storedData, storedParts: storedParts)
  }

  /// Whether the body that the entry owns can be the one that `incoming` describes, as far as paths go: when
  /// a source is gone, it is sent once more (D28). The path is no part of what parts are (D5), so other parts
  /// may go over the same bytes.
  package func ownsBody(of incoming: Descriptor) -> Bool {
    switch body.place {
    case .none, .reference: return false
    case .row, .file: break
    }
    switch (incoming.body, request.body) {
    case (.parts, .parts): return true
    case (.parts(let path, _), .file(let owned)), (.file(let path), .parts(let owned, _)):
      return path == owned
    case (.form, .form), (.file, .file):
      return incoming.body.namesFiles
        && incoming.body.isSame(as: request.body, storedData: nil, storedParts: nil)
    case (.none, _), (.data, _), (.form, _), (.file, _), (.parts, _): return false
    }
  }
}
