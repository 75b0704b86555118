package import JSONText

/// Header fields in the caller's order and spelling; a name occurs once, whatever its case (D32).
package struct HeaderFields: Sendable, Equatable {
  package struct Field: Sendable, Equatable {
    package var name: String
    package var value: String

    package init(name: String, value: String) {
      self.name = name
      self.value = value
    }

    package static func == (left: Field, right: Field) -> Bool {
      left.name.hasSameBytes(as: right.name) && left.value.hasSameBytes(as: right.value)
    }
  }

  package private(set) var fields: [Field] = []

  package init() {}

  /// Reads an object of strings (D32): refuses names that are no tokens, names that differ only in case, the
  /// names that the transport owns, and values with a control character. A refusal names the field and never
  /// its value.
  package init(reading json: JSON, path: String) throws(InvalidInput) {
    guard json.kind == .object else {
      throw InvalidInput(path: path, message: "must be an object of strings")
    }
    var seen = SeenNames()
    var bytes = 0
    for (name, value) in json.members() {
      func refusal(_ message: String) -> InvalidInput {
        InvalidInput(path: JSONPath.member(name, of: path), message: message)
      }
      try HeaderRules.check(name: name, path: path)
      guard seen.isNew(name, among: fields) else { throw refusal("must be given once, whatever its case") }
      guard let text = value.string else { throw refusal("must be a string; write a number as one") }
      try HeaderRules.check(value: text, path: JSONPath.member(name, of: path))
      fields.append(Field(name: name, value: text))
      bytes += name.utf8.count + text.utf8.count + 4
    }
    guard bytes <= Bounds.requestHead else {
      throw InvalidInput(path: path, message: "must have at most \(Bounds.requestHead) bytes")
    }
  }

  /// Reads back what `write` wrote, by the letter: the rules of the version that accepted it hold.
  init(stored json: JSON) {
    for (name, value) in json.members() {
      guard let text = value.string else { continue }
      fields.append(Field(name: name, value: text))
    }
  }

  /// Writes an object of strings.
  package func write(into writer: inout JSONWriter) {
    writer.object { for field in fields { $0.member(field.name, field.value) } }
  }

  /// The value of the field called `name`, matched without regard to ASCII case.
  package subscript(_ name: String) -> String? {
    fields.first { HeaderFields.sameName($0.name, name) }?.value
  }

  /// Sets a field; one of the same name gives way, with its spelling and its place.
  package mutating func set(_ name: String, _ value: String) {
    if let index = fields.firstIndex(where: { HeaderFields.sameName($0.name, name) }) {
      fields[index] = Field(name: name, value: value)
    } else {
      fields.append(Field(name: name, value: value))
    }
  }

  package mutating func remove(_ name: String) {
    fields.removeAll { HeaderFields.sameName($0.name, name) }
  }

  /// These fields with every field of `upper` set over them.
  package func merged(under upper: HeaderFields) -> HeaderFields {
    var merged = self
    for field in upper.fields { merged.set(field.name, field.value) }
    return merged
  }

  /// Whether each name here occurs in `other` too.
  func names(areCoveredBy other: HeaderFields) -> Bool {
    fields.allSatisfy { other[$0.name] != nil }
  }

  /// Equality of names without regard to ASCII case (RFC 9110, section 5.1).
  package static func sameName(_ left: String, _ right: String) -> Bool {
    guard left.utf8.count == right.utf8.count else { return false }
    return zip(left.utf8, right.utf8).allSatisfy { HTTPText.lowercased($0) == HTTPText.lowercased($1) }
  }
}

/// Finds a name that comes again. A few names are compared one by one, many are looked up.
private struct SeenNames {
  private var lowercased: Set<[UInt8]> = []

  mutating func isNew(_ name: String, among fields: [HeaderFields.Field]) -> Bool {
    if fields.count < 16 { return !fields.contains { HeaderFields.sameName($0.name, name) } }
    if lowercased.isEmpty { for field in fields { insert(field.name) } }
    return insert(name)
  }

  @discardableResult
  private mutating func insert(_ name: String) -> Bool {
    lowercased.insert(name.utf8.map(HTTPText.lowercased)).inserted
  }
}
