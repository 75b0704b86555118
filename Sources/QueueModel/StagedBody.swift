/// A body as the queue owns it, ready to be sent (D27).
package struct StagedBody: Sendable, Equatable {
  package var kind: BodyKind
  /// Content-Length of a request that sends all of it, bytes.
  package var length: Int64
  package var place: Place
  /// For `multipart/form-data` the boundary's content type, which overrides the caller's; for `data` the
  /// default.
  package var contentType: String?
  /// Size and modification time of each source path when it was staged, in the order of the descriptor (D5).
  package var sources: [SourceStamp]

  package enum Place: Sendable, Equatable {
    case none
    /// In the database, beside the row (at most 64 KiB).
    case row
    /// A file of this name in the store's body folder.
    case file(name: String)
  }

  package init(
    kind: BodyKind, length: Int64, place: Place, contentType: String? = nil, sources: [SourceStamp] = []
  ) {
    self.kind = kind
    self.length = length
    self.place = place
    self.contentType = contentType
    self.sources = sources
  }

  package static let none = StagedBody(kind: .none, length: 0, place: .none)
}

/// What a source file looked like when it was read.
package struct SourceStamp: Sendable, Equatable {
  package var size: Int64
  /// Nanoseconds since the epoch.
  package var modifiedAt: Int64

  package init(size: Int64, modifiedAt: Int64) {
    self.size = size
    self.modifiedAt = modifiedAt
  }
}
