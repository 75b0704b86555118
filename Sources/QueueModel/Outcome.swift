package import JSONText

/// How one settle cycle of an entry ended: journaled with the entry's change, delivered until acknowledged.
package struct Outcome: Sendable {
  /// Version 4 UUID.
  package var eventID: String
  /// The entry's creation number.
  package var entry: Int64
  package var id: EntryID
  package var key: EntryKey
  package var vars: JSON
  package var group: EntryGroup?
  package var lane: Lane?
  /// Wall clock, ms.
  package var at: Int64
  package var generation: Int64
  package var attempts: Int64
  /// Of the last attempt; nil when there was none.
  package var requestID: String?
  package var bytesSent: Int64
  package var totalBytes: Int64
  package var url: String
  package var method: HTTPMethod
  /// Index of the part that decided, from 0.
  package var partIndex: Int?
  package var settlement: Settlement
  /// The connection that it goes to first; never told to a host.
  package var host: HostID?

  package enum Settlement: Sendable {
    case completed(ResponseRecord)
    case error(kind: ErrorKind, message: String, response: ResponseRecord?)
    case cancelled(reason: String)

    package var kind: Kind {
      switch self {
      case .completed: .completed
      case .error: .error
      case .cancelled: .cancelled
      }
    }
  }

  /// The settled states by their wire names.
  package enum Kind: String, Sendable, CaseIterable {
    case completed, error, cancelled
  }

  package init(
    eventID: String, entry: Int64, id: EntryID, key: EntryKey, vars: JSON, at: Int64, generation: Int64,
    attempts: Int64, requestID: String?, bytesSent: Int64, totalBytes: Int64, url: String, method: HTTPMethod,
    partIndex: Int?, settlement: Settlement, host: HostID? = nil, lane: Lane? = nil, group: EntryGroup? = nil
  ) {
    self.eventID = eventID
    self.entry = entry
    self.id = id
    self.key = key
    self.vars = vars
    self.lane = lane
    self.at = at
    self.generation = generation
    self.attempts = attempts
    self.requestID = requestID
    self.bytesSent = bytesSent
    self.totalBytes = totalBytes
    self.url = url
    self.method = method
    self.partIndex = partIndex
    self.settlement = settlement
    self.host = host
    self.group = group
  }
}

/// Why an entry settled with an error, by its wire name.
package enum ErrorKind: String, Sendable, CaseIterable {
  case http, network, file, expired, truncated, unknown
  /// An entry that it waited for did not complete, or did not answer with what it takes (D45, D46).
  case dependency
}
