package import JSONText

/// The name of entries that belong together (D48), compared as keys are (D10).
package struct EntryGroup: ByteComparedText {
  package let text: String

  package init(_ text: String) { self.text = text }

  /// Refuses what is no string of 1 to 256 bytes.
  package init(reading json: JSON, path: String) throws(InvalidInput) {
    text = try json.name(at: path)
  }
}

extension Entry {
  /// What it counts for in the progress of its group.
  package var weightInGroup: Double { weight ?? Double(max(body.length, 1)) }

  /// How much of it is done, 0 to 1: the bytes that it has sent, and all of it once it is completed.
  package var shareDone: Double {
    if case .settled(.completed, _) = state { return 1 }
    return body.length > 0 ? min(Double(bytesSent) / Double(body.length), 1) : 0
  }
}

extension Enqueue {
  /// Reads what is said of the group, and the limits of time (D48, D49).
  mutating func readGroup(_ object: ObjectReader) throws(InvalidInput) {
    if let json = object["group"] { group = try EntryGroup(reading: json, path: object.path(of: "group")) }
    if let json = object["weight"] {
      guard let number = json.double, number > 0, number <= Bounds.weight else {
        throw InvalidInput(
          path: object.path(of: "weight"), message: "must be a number above 0, at most \(Int(Bounds.weight))")
      }
      weight = number
    }
    deadlineMs = try object.integer("deadlineMs", in: 1...Bounds.integer)
    groupDeadlineMs = try object.integer("groupDeadlineMs", in: 1...Bounds.integer)
    if groupDeadlineMs != nil && group == nil {
      throw InvalidInput(path: object.path(of: "groupDeadlineMs"), message: "goes with group")
    }
  }
}
