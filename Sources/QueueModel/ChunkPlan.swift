/// Splits a byte count into ranges that requests can send one by one.
package enum ChunkPlan {
  /// Bytes that a last range has at least, by default.
  package static let defaultMin: Int64 = 8 << 20
  /// Bytes of a full range, by default.
  package static let defaultMax: Int64 = 20 << 20

  /// Contiguous ranges that cover 0 ..< `size`: all of `max` bytes but the last, which takes in a remainder
  /// below `min`. A size below `max` is one range, and so is 0 (D9). Paths of a refusal are the names of the
  /// parameters.
  package static func ranges(
    size: Int64, min least: Int64 = defaultMin, max most: Int64 = defaultMax
  ) throws(InvalidInput) -> [Range<Int64>] {
    guard size >= 0 else { throw InvalidInput(path: "size", message: "must be at least 0") }
    guard least >= 1 else { throw InvalidInput(path: "min", message: "must be at least 1") }
    guard most >= least else { throw InvalidInput(path: "max", message: "must be at least min (\(least))") }
    let full = size / most
    let hasOwnRemainder = full == 0 || size % most >= least
    guard full + (hasOwnRemainder ? 1 : 0) <= Bounds.ranges else {
      throw InvalidInput(
        path: "max", message: "must be larger, so that the plan has at most \(Bounds.ranges) ranges")
    }
    var starts = (0..<full).map { $0 * most }
    if hasOwnRemainder { starts.append(full * most) }
    return starts.indices.map { index in
      starts[index]..<(index + 1 < starts.count ? starts[index + 1] : size)
    }
  }
}
