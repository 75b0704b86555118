/// Objects that mark places in a value, to be replaced by other values.
extension JSON {
  /// One object that has the marking member.
  package struct Slot: Sendable {
    package let object: JSON
  }

  /// The outermost objects that have a member called `mark`, in order. One pass, whatever the nesting.
  package func slots(markedBy mark: String) -> [Slot] {
    var slots: [Slot] = []
    let text = storage.span
    var opened: [Int] = []
    var at = lower
    while at < upper {
      switch text[at] {
      case Ascii.quote:
        let end = JSONWalk.endOfString(text, from: at)
        let next = JSONWalk.spaceEnd(text, from: end)
        let isName = next < upper && text[next] == Ascii.colon
        guard isName, let begin = opened.last, isSame(at + 1..<end - 1, mark) else {
          at = end
          continue
        }
        let object = JSON(storage: storage, lower: begin, upper: JSONWalk.endOfValue(text, from: begin))
        slots.append(Slot(object: object))
        opened.removeLast()
        at = object.upper
      case Ascii.openBrace:
        opened.append(at)
        at += 1
      case Ascii.closeBrace:
        opened.removeLast()
        at += 1
      default: at += 1
      }
    }
    return slots
  }

  /// The text with other values in the place of the slots, byte for byte.
  ///
  /// - Parameter values: One for each of `slots`, which are this value's, in order.
  package func filling(_ slots: [Slot], with values: [JSON]) -> [UInt8] {
    var filled: [UInt8] = []
    var at = lower
    for (slot, value) in zip(slots, values) {
      filled += storage[at..<slot.object.lower]
      filled += value.text
      at = slot.object.upper
    }
    return filled + storage[at..<upper]
  }

  private func isSame(_ name: Range<Int>, _ mark: String) -> Bool {
    JSONString.value(storage.span, name).elementsEqual(mark.utf8)
  }

  /// Where the slot stands, like `[3].a`; empty for the whole value.
  package func path(of slot: Slot) -> String {
    JSONPath.of(slot.object.lower - lower, in: detached().storage.span)
  }
}
