package import JSONText

/// What a host asks for with `enqueue`.
package struct Enqueue: Sendable {
  package var id: EntryID
  package var key: EntryKey
  /// Object, array or null.
  package var vars: JSON
  package var request: Descriptor
  /// The entries that it belongs to (D48).
  package var group: EntryGroup?
  /// For the progress of the group; nil takes the bytes of the body.
  package var weight: Double?
  /// From its first attempt on (D49), ms.
  package var deadlineMs: Int64?
  /// From the first attempt of any member on (D49), ms; nil leaves what the group has.
  package var groupDeadlineMs: Int64?
  /// None of it is part of the body's identity (D5).
  package var dependencies = Dependencies()
  package var lane: Lane?
  /// The number of the newest header patch when the call arrived. One that arrives while the body is staged
  /// is newer than the headers of the call and applies to them (protocol.md section 1). nil takes the newest
  /// at the commit.
  package var headerRevision: Int64?
  /// The connection that the call came on.
  package var host: HostID?

  package init(
    id: EntryID, key: EntryKey, vars: JSON, request: Descriptor, headerRevision: Int64? = nil,
    host: HostID? = nil
  ) {
    self.id = id
    self.key = key
    self.vars = vars
    self.request = request
    self.headerRevision = headerRevision
    self.host = host
  }

  /// Wall clock, ms: the descriptor's, else the default's distance from now.
  func expiresAt(lifetimeMs: Int64, now: Moment) -> Int64 {
    request.expiresAt ?? now.wall(afterLifetime: lifetimeMs)
  }
}

extension Moment {
  /// Wall clock, ms: where a lifetime that begins now ends.
  func wall(afterLifetime lifetimeMs: Int64) -> Int64 {
    let (sum, overflow) = wall.addingReportingOverflow(lifetimeMs)
    return overflow ? Bounds.integer : min(sum, Bounds.integer)
  }
}

extension Descriptor {
  /// The Idempotency-Key for a body that is new (D19).
  func freshIdempotencyKey(_ randomness: any Randomness) -> String? {
    switch method {
    case .post, .patch: randomness.uuid()
    case .put, .delete, .get: nil
    }
  }
}
