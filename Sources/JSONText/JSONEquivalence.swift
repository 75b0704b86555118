extension JSON {
  /// Whether both are the same JSON value (D5): spacing and the order of members do not matter, strings and
  /// names compare decoded and byte by byte, numbers by their text. Where a name is repeated, its values
  /// compare in order.
  ///
  /// Beyond `maxDepth`, which no kept value reaches, the texts themselves compare.
  package func isEquivalent(to other: JSON) -> Bool { isEquivalent(to: other, levels: JSON.maxDepth) }

  private func isEquivalent(to other: JSON, levels: Int) -> Bool {
    if self == other { return true }
    if kind != other.kind || levels == 0 { return false }
    switch kind {
    case .object: return hasEquivalentMembers(other, levels: levels - 1)
    case .array: return hasEquivalentElements(other, levels: levels - 1)
    case .string: return stringBytes == other.stringBytes
    case .number, .true, .false, .null: return false
    }
  }

  var stringBytes: [UInt8] { JSONString.value(storage.span, lower + 1..<upper - 1) }

  private func hasEquivalentElements(_ other: JSON, levels: Int) -> Bool {
    var left = elements()
    var right = other.elements()
    while true {
      switch (left.next(), right.next()) {
      case (nil, nil): return true
      case (let one?, let two?):
        if !one.isEquivalent(to: two, levels: levels) { return false }
      case (nil, .some), (.some, nil): return false
      }
    }
  }

  private func hasEquivalentMembers(_ other: JSON, levels: Int) -> Bool {
    let left = membersByName()
    let right = other.membersByName()
    guard left.count == right.count else { return false }
    for (one, two) in zip(left, right) {
      guard one.name == two.name, one.value.isEquivalent(to: two.value, levels: levels) else { return false }
    }
    return true
  }

  typealias NamedMember = (name: [UInt8], order: Int, value: JSON)

  /// By the bytes of the name, then by place.
  func membersByName() -> [NamedMember] {
    var members: [NamedMember] = []
    var slices = MemberSlices(self)
    while let slice = slices.next() {
      members.append((JSONString.value(storage.span, slice.name), members.count, value(slice.value)))
    }
    members.sort { one, two in
      one.name == two.name ? one.order < two.order : one.name.lexicographicallyPrecedes(two.name)
    }
    return members
  }
}
