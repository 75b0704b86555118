import JSONText

/// The members of an object of which every name is known: an unknown one is refused with the nearest known
/// name, a repeated one is refused too (protocol.md section 1).
struct ObjectReader {
  /// Where the object stands, from the params on; empty is the params themselves.
  let path: String

  /// Those that the object has: looked for far more often than given.
  private var members: [(name: String, value: JSON)] = []

  /// - Parameter names: Every name that the object may have.
  init(_ object: JSON, path: String, names: [String]) throws(InvalidInput) {
    guard object.kind == .object else { throw InvalidInput(path: path, message: "must be an object") }
    self.path = path
    members.reserveCapacity(min(names.count, 8))
    for (name, value) in object.members() {
      guard names.contains(where: { Self.isSame($0, name) }) else {
        throw InvalidInput(path: JSONPath.member(name, of: path), message: Self.unknown(name, known: names))
      }
      guard self[name] == nil else {
        throw InvalidInput(path: JSONPath.member(name, of: path), message: "must be given once")
      }
      members.append((name, value))
    }
  }

  /// Known names are ASCII, for which equal strings of equal length have equal bytes; that is the quick
  /// comparison.
  private static func isSame(_ known: String, _ name: String) -> Bool {
    known.utf8.count == name.utf8.count && known == name
  }

  /// The member's value; nil when it is absent. A null is a value.
  subscript(_ name: String) -> JSON? {
    for member in members where Self.isSame(member.name, name) { return member.value }
    return nil
  }

  /// The same object with null members absent, but for those called one of `kept`.
  func droppingNulls(except kept: [String]) -> ObjectReader {
    func isDropped(_ member: (name: String, value: JSON)) -> Bool {
      member.value.isNull && !kept.contains(member.name)
    }
    guard members.contains(where: isDropped) else { return self }
    var copy = self
    copy.members.removeAll(where: isDropped)
    return copy
  }

  /// The path of the member `name`.
  func path(of name: String) -> String { JSONPath.member(name, of: path) }

  func required(_ name: String) throws(InvalidInput) -> JSON {
    guard let value = self[name] else { throw InvalidInput(path: path(of: name), message: "is required") }
    return value
  }

  func string(_ name: String) throws(InvalidInput) -> String? {
    try self[name]?.string(at: path(of: name))
  }

  func nonEmptyString(_ name: String) throws(InvalidInput) -> String? {
    try self[name]?.nonEmptyString(at: path(of: name))
  }

  func bool(_ name: String) throws(InvalidInput) -> Bool? {
    try self[name]?.bool(at: path(of: name))
  }

  func integer(_ name: String, in range: ClosedRange<Int64>) throws(InvalidInput) -> Int64? {
    try self[name]?.integer(at: path(of: name), in: range)
  }

  func requiredInteger(_ name: String, in range: ClosedRange<Int64>) throws(InvalidInput) -> Int64 {
    try required(name).integer(at: path(of: name), in: range)
  }

  /// The member as one of an enumeration's raw values.
  func choice<Choice: RawRepresentable & CaseIterable>(
    _ name: String, as _: Choice.Type = Choice.self
  ) throws(InvalidInput) -> Choice? where Choice.RawValue == String {
    guard let value = self[name] else { return nil }
    for choice in Choice.allCases where value.string?.hasSameBytes(as: choice.rawValue) == true {
      return choice
    }
    let names = Choice.allCases.map(\.rawValue).joined(separator: ", ")
    throw InvalidInput(path: path(of: name), message: "must be one of \(names)")
  }

  private static func unknown(_ name: String, known: [String]) -> String {
    guard let near = NearestName.of(name, among: known) else { return "is no member here" }
    return "is no member here; did you mean \(near)?"
  }
}

extension String {
  /// Equality byte by byte; `==` on strings holds canonically equivalent spellings for equal.
  func hasSameBytes(as other: String) -> Bool {
    utf8.count == other.utf8.count && utf8.elementsEqual(other.utf8)
  }
}

extension String? {
  /// Both absent, or equal byte by byte.
  func hasSameBytes(as other: String?) -> Bool {
    switch (self, other) {
    case (nil, nil): true
    case (let left?, let right?): left.hasSameBytes(as: right)
    case (nil, .some), (.some, nil): false
    }
  }
}
