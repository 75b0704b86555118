import JSONText

/// How many attempts run at once (D25).
package struct Concurrency: Sendable, Equatable {
  package var total = 4
  /// Of `total`, kept for priority `high`; less than `total`.
  package var reservedHigh = 1
  package var partsPerEntry = 3
  /// At once to one origin; nil is no limit but `total`.
  package var perOrigin: Int?

  package init() {}

  /// Reads `{total, reservedHigh, partsPerEntry, perOrigin?}`.
  init(reading json: JSON, path: String) throws(InvalidInput) {
    let object = try ObjectReader(
      json, path: path, names: ["total", "reservedHigh", "partsPerEntry", "perOrigin"])
    total = Int(try object.requiredInteger("total", in: 1...Bounds.concurrency))
    // All slots reserved would keep every normal entry back for ever.
    reservedHigh = Int(try object.requiredInteger("reservedHigh", in: 0...Int64(total - 1)))
    partsPerEntry = Int(try object.requiredInteger("partsPerEntry", in: 1...Bounds.concurrency))
    perOrigin = try object.integer("perOrigin", in: 1...Bounds.concurrency).map { Int($0) }
  }

  func write(into writer: inout JSONWriter) {
    writer.object {
      $0.member("total", total)
      $0.member("reservedHigh", reservedHigh)
      $0.member("partsPerEntry", partsPerEntry)
      if let perOrigin { $0.member("perOrigin", perOrigin) }
    }
  }
}
