/// Which known name a misspelled one was meant to be.
package enum NearestName {
  /// The known name within two edits of `name`, whatever its case; nil when none is near.
  package static func of(_ name: String, among known: [String]) -> String? {
    guard name.utf8.count <= 64 else { return nil }
    let given = Array(name.lowercased().utf8)
    var best: (name: String, distance: Int)?
    for candidate in known {
      let distance = distance(given, Array(candidate.lowercased().utf8))
      // With as many edits as letters, anything could become anything.
      guard distance <= 2, distance < given.count, distance < best?.distance ?? 3 else { continue }
      best = (candidate, distance)
    }
    return best?.name
  }

  /// Levenshtein distance in bytes.
  private static func distance(_ left: [UInt8], _ right: [UInt8]) -> Int {
    var row = Array(0...right.count)
    for (index, byte) in left.enumerated() {
      var diagonal = row[0]
      row[0] = index + 1
      for column in right.indices {
        let above = row[column + 1]
        row[column + 1] = min(min(above, row[column]) + 1, diagonal + (byte == right[column] ? 0 : 1))
        diagonal = above
      }
    }
    return row[right.count]
  }
}
