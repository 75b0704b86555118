extension JSON {
  /// The members of an object in the order of the text, repeated names included; none for any other kind.
  ///
  /// Names come decoded. Compare them byte by byte (`utf8.elementsEqual`): Swift's `==` on strings holds
  /// canonically equivalent spellings for equal.
  package func members() -> Members { Members(slices: MemberSlices(self)) }

  /// The first member whose decoded name has exactly the bytes of `name`; nil also when this is no object.
  package subscript(_ name: String) -> JSON? {
    var slices = MemberSlices(self)
    while let slice = slices.next() {
      if isName(slice.name, name) { return value(slice.value) }
    }
    return nil
  }

  /// The members by name, found once: for one who asks for many of them.
  package func indexed() -> Index { Index(self) }

  /// The first name that this object gives twice (its own members only); nil when every name is different.
  package func duplicateMember() -> String? {
    // Few names are compared where they stand.
    var names: [Range<Int>] = []
    var slices = MemberSlices(self)
    while let slice = slices.next() {
      if names.count == JSON.fewMembers || JSONString.hasEscape(storage.span, slice.name) {
        return duplicateOfMany()
      }
      if names.contains(where: { storage[$0] == storage[slice.name] }) {
        return JSONString.text(storage, slice.name)
      }
      names.append(slice.name)
    }
    return nil
  }

  private static let fewMembers = 16

  private func duplicateOfMany() -> String? {
    var seen: Set<[UInt8]> = []
    var slices = MemberSlices(self)
    while let slice = slices.next() {
      let name = JSONString.value(storage.span, slice.name)
      if !seen.insert(name).inserted { return String(decoding: name, as: UTF8.self) }
    }
    return nil
  }

  /// The value in this range of the same storage.
  func value(_ range: Range<Int>) -> JSON {
    JSON(storage: storage, lower: range.lowerBound, upper: range.upperBound)
  }

  private func isName(_ range: Range<Int>, _ name: String) -> Bool {
    // An escape is longer than what it stands for.
    let length = name.utf8.count
    if range.count < length { return false }
    if range.count == length {
      guard storage[range].elementsEqual(name.utf8) else { return false }
      return !JSONString.hasEscape(storage.span, range)
    }
    return JSONString.hasEscape(storage.span, range)
      && JSONString.decoded(storage.span, range).bytes.elementsEqual(name.utf8)
  }

  package struct Index {
    private let object: JSON
    private var slices: [(name: Range<Int>, value: Range<Int>)] = []

    fileprivate init(_ object: JSON) {
      self.object = object
      var walk = MemberSlices(object)
      slices.reserveCapacity(24)
      while let slice = walk.next() { slices.append(slice) }
    }

    /// As `JSON.subscript(_:)`.
    package subscript(_ name: String) -> JSON? {
      for slice in slices where object.isName(slice.name, name) { return object.value(slice.value) }
      return nil
    }
  }

  package struct Members: Sequence, IteratorProtocol {
    var slices: MemberSlices

    package mutating func next() -> (key: String, value: JSON)? {
      guard let slice = slices.next() else { return nil }
      let storage = slices.storage
      let value = JSON(storage: storage, lower: slice.value.lowerBound, upper: slice.value.upperBound)
      return (JSONString.text(storage, slice.name), value)
    }
  }
}

/// The members of an object as ranges: the name between its quotes, undecoded, and the value.
struct MemberSlices {
  let storage: [UInt8]
  private var at: Int
  private var isAtEnd: Bool

  init(_ object: JSON) {
    storage = object.storage
    at = object.lower + 1
    isAtEnd = object.kind != .object
    if !isAtEnd {
      at = JSONWalk.spaceEnd(storage.span, from: at)
      isAtEnd = storage[at] == Ascii.closeBrace
    }
  }

  mutating func next() -> (name: Range<Int>, value: Range<Int>)? {
    if isAtEnd { return nil }
    let storage = storage
    let text = storage.span
    let nameEnd = JSONWalk.endOfString(text, from: at)
    let name = at + 1..<nameEnd - 1
    at = nameEnd
    at = JSONWalk.spaceEnd(text, from: at)
    at += 1
    at = JSONWalk.spaceEnd(text, from: at)
    let begin = at
    at = JSONWalk.endOfValue(text, from: begin)
    let value = begin..<at
    at = JSONWalk.spaceEnd(text, from: at)
    isAtEnd = text[at] == Ascii.closeBrace
    at += 1
    at = JSONWalk.spaceEnd(text, from: at)
    return (name, value)
  }
}
