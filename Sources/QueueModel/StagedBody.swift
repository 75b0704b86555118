/// A body as the queue owns it, ready to be sent (D27).
package struct StagedBody: Sendable, Equatable {
  package var kind: BodyKind
  /// Content-Length of a request that sends all of it, bytes.
  package var length: Int64
  package var place: Place
  /// For `multipart/form-data` the boundary's content type, which overrides the caller's; for `data` the
  /// default.
  package var contentType: String?
  /// What each source path looked like when it was staged, in the order of the descriptor (D5).
  package var sources: [SourceStamp]

  package enum Place: Sendable, Equatable {
    case none
    /// In the database, beside the row (at most 64 KiB).
    case row
    /// A file of this name in the store's body folder.
    case file(name: String)
    /// The caller's own files, where they are: `sources` says what they have to look like (D28).
    case reference
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

  /// There was one, and it is gone.
  var isLetGo: Bool { kind != .none && place == .none }

  package static let none = StagedBody(kind: .none, length: 0, place: .none)
}

/// What a source file looked like when it was read.
package struct SourceStamp: Sendable, Equatable {
  package var size: Int64
  /// Nanoseconds since the epoch.
  package var modifiedAt: Int64
  /// The bits of its inode number; nil where an earlier version did not note it.
  package var inode: Int64?

  package init(size: Int64, modifiedAt: Int64, inode: Int64? = nil) {
    self.size = size
    self.modifiedAt = modifiedAt
    self.inode = inode
  }

  /// As the system gives it.
  package init(size: Int64, seconds: Int64, nanoseconds: Int64, inode: UInt64) {
    self.init(
      size: size, modifiedAt: seconds &* 1_000_000_000 &+ nanoseconds, inode: Int64(bitPattern: inode))
  }

  /// Whether two enqueues that found these send the same body: another file of the same size and time does
  /// (D5).
  package func looksLike(_ other: SourceStamp) -> Bool {
    size == other.size && modifiedAt == other.modifiedAt
  }
}
