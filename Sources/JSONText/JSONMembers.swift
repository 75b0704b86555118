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
      if isName(slice.name, name) { return slice.value }
    }
    return nil
  }

  /// The first name that this object gives twice (its own members only); nil when every name is different.
  package func duplicateMember() -> String? {
    var seen: Set<[UInt8]> = []
    var slices = MemberSlices(self)
    while let slice = slices.next() {
      let name = JSONString.value(storage.span, slice.name)
      if !seen.insert(name).inserted { return String(decoding: name, as: UTF8.self) }
    }
    return nil
  }

  private func isName(_ range: Range<Int>, _ name: String) -> Bool {
    if JSONString.hasEscape(storage.span, range) {
      return JSONString.decoded(storage.span, range).bytes.elementsEqual(name.utf8)
    }
    return storage[range].elementsEqual(name.utf8)
  }

  package struct Members: Sequence, IteratorProtocol {
    var slices: MemberSlices

    package mutating func next() -> (key: String, value: JSON)? {
      guard let slice = slices.next() else { return nil }
      let name = JSONString.value(slice.value.storage.span, slice.name)
      return (String(decoding: name, as: UTF8.self), slice.value)
    }
  }
}

/// The members of an object as ranges: the name between its quotes, undecoded, and the value.
struct MemberSlices {
  private let storage: [UInt8]
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

  mutating func next() -> (name: Range<Int>, value: JSON)? {
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
    let value = JSON(storage: storage, lower: begin, upper: at)
    at = JSONWalk.spaceEnd(text, from: at)
    isAtEnd = text[at] == Ascii.closeBrace
    at += 1
    at = JSONWalk.spaceEnd(text, from: at)
    return (name, value)
  }
}
