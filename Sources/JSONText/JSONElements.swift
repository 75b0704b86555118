extension JSON {
  /// The elements of an array in order; none for any other kind.
  package func elements() -> Elements { Elements(self) }

  package struct Elements: Sequence, IteratorProtocol {
    private let storage: [UInt8]
    private var at: Int
    private var isAtEnd: Bool

    init(_ array: JSON) {
      storage = array.storage
      at = array.lower + 1
      isAtEnd = array.kind != .array
      if !isAtEnd {
        at = JSONWalk.spaceEnd(storage.span, from: at)
        isAtEnd = storage[at] == Ascii.closeBracket
      }
    }

    package mutating func next() -> JSON? {
      if isAtEnd { return nil }
      let storage = storage
      let text = storage.span
      let begin = at
      at = JSONWalk.endOfValue(text, from: begin)
      let value = JSON(storage: storage, lower: begin, upper: at)
      at = JSONWalk.spaceEnd(text, from: at)
      isAtEnd = text[at] == Ascii.closeBracket
      at += 1
      at = JSONWalk.spaceEnd(text, from: at)
      return value
    }
  }
}
