/// One `updateHeaders` call.
package struct HeaderPatch: Sendable, Equatable {
  /// From 1, rising.
  package var number: Int64
  package var headers: HeaderFields
  /// nil covers every key.
  package var keys: Set<EntryKey>?
  /// nil covers every origin.
  package var origin: Origin?

  package init(number: Int64, headers: HeaderFields, keys: Set<EntryKey>?, origin: Origin?) {
    self.number = number
    self.headers = headers
    self.keys = keys
    self.origin = origin
  }

  /// Whether the patch holds for entries of `key` that are sent to `origin`.
  package func covers(key: EntryKey, origin: Origin?) -> Bool {
    (keys?.contains(key) ?? true) && (self.origin == nil || self.origin == origin)
  }
}

extension Gates {
  /// The number of the newest patch that covers such entries; 0 if none does.
  package func coveringRevision(key: EntryKey, origin: Origin?) -> Int64 {
    patches.last { $0.covers(key: key, origin: origin) }?.number ?? 0
  }

  /// The entry's own headers with the patches over them that are newer and cover it, in order (D1).
  package func headers(for entry: Entry) -> HeaderFields {
    var headers = entry.request.headers
    for patch in patches
    where patch.number > entry.headerRevision && patch.covers(key: entry.key, origin: entry.origin) {
      headers = headers.merged(under: patch.headers)
    }
    return headers
  }

  /// The headers of one part: its own go over the entry's, and newer patches over both. A name that the part
  /// lacks comes from the entry.
  package func headers(for entry: Entry, part: PartRequest) -> HeaderFields {
    var headers = entry.request.headers.merged(under: part.headers)
    for patch in patches
    where patch.number > entry.headerRevision && patch.covers(key: entry.key, origin: part.url.origin) {
      headers = headers.merged(under: patch.headers)
    }
    return headers
  }

  /// The newest revision of what an attempt of the entry would send now: its own headers, or a patch that
  /// covers it.
  func revision(for entry: Entry) -> Int64 {
    max(entry.headerRevision, coveringRevision(key: entry.key, origin: entry.origin))
  }

  /// Adds a patch under the next number. Older ones of the same scope whose every name it sets are erased:
  /// whoever applies them applies this one over them.
  package mutating func add(_ patch: HeaderPatch) {
    headerRevision += 1
    var patch = patch
    patch.number = headerRevision
    patches.removeAll {
      $0.keys == patch.keys && $0.origin == patch.origin && $0.headers.names(areCoveredBy: patch.headers)
    }
    patches.append(patch)
  }

  /// Erases the patches that no entry is older than (D38).
  ///
  /// - Parameter oldest: The least `headerRevision` of all live entries; nil when there is none.
  package mutating func erasePatches(notNewerThan oldest: Int64?) {
    patches.removeAll { $0.number <= oldest ?? headerRevision }
  }
}
