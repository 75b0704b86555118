/// Names one value inside another (RFC 6901).
package struct JSONPointer: Sendable {
  /// As it was written; empty names the whole value.
  package let text: String
  private let steps: [String]

  /// nil when the text is no pointer: it has to be empty or to begin with `/`, and `~` stands for nothing but
  /// `~0` and `~1`.
  package init?(_ text: String) {
    self.text = text
    var steps: [[UInt8]] = []
    var bytes = text.utf8.makeIterator()
    while let byte = bytes.next() {
      if byte == UInt8(ascii: "/") {
        steps.append([])
        continue
      }
      guard !steps.isEmpty else { return nil }
      guard byte == UInt8(ascii: "~") else {
        steps[steps.count - 1].append(byte)
        continue
      }
      switch bytes.next() {
      case Ascii.zero: steps[steps.count - 1].append(UInt8(ascii: "~"))
      case UInt8(ascii: "1"): steps[steps.count - 1].append(UInt8(ascii: "/"))
      default: return nil
      }
    }
    self.steps = steps.map { String(decoding: $0, as: UTF8.self) }
  }

  /// The value that it names; nil when there is none. Of a member that stands twice, the first.
  package func value(in json: JSON) -> JSON? {
    var value = json
    for step in steps {
      switch value.kind {
      case .object:
        guard let member = value[step] else { return nil }
        value = member
      case .array:
        guard let index = JSONPointer.index(step), let element = value.element(at: index) else { return nil }
        value = element
      case .string, .number, .true, .false, .null: return nil
      }
    }
    return value
  }

  /// Digits without a leading zero. `-`, the place behind the last element, names no value.
  private static func index(_ step: String) -> Int? {
    let digits = step.utf8
    guard !digits.isEmpty, digits.allSatisfy(\.isDigit), digits.first != Ascii.zero || digits.count == 1
    else { return nil }
    return Int(step)
  }
}

extension JSON {
  fileprivate func element(at index: Int) -> JSON? {
    var elements = elements()
    for _ in 0..<index where elements.next() == nil { return nil }
    return elements.next()
  }
}
