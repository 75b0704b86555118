/// How the place of a value is written: `params.vars[3].a`; a name that would read as something else stands
/// in brackets and quotes: `headers["a b"]`.
package enum JSONPath {
  /// Steps shown before the rest is left out.
  static let maxSteps = 64

  /// Characters of one name shown before the rest is left out.
  static let maxName = 64

  /// The path of the member `name` of the object at `base`; an empty `base` is the outermost value.
  package static func member(_ name: String, of base: String) -> String {
    if name.utf8.count <= maxName, !name.isEmpty, name.utf8.allSatisfy(isPlainCharacter) {
      return base.isEmpty ? name : "\(base).\(name)"
    }
    // Of a long name its beginning.
    var shown = ""
    var isPlain = !name.isEmpty
    for (count, scalar) in name.unicodeScalars.enumerated() {
      if count == maxName {
        shown += "\u{2026}"
        break
      }
      shown.unicodeScalars.append(scalar)
      if !scalar.isASCII || !isPlainCharacter(UInt8(scalar.value)) { isPlain = false }
    }
    if isPlain { return base.isEmpty ? shown : "\(base).\(shown)" }
    var writer = JSONWriter()
    writer.value(shown)
    return "\(base)[\(String(decoding: writer.bytes, as: UTF8.self))]"
  }

  /// The path of element `index`, from 0, of the array at `base`.
  package static func element(_ index: Int, of base: String) -> String { "\(base)[\(index)]" }

  private static func isPlainCharacter(_ byte: UInt8) -> Bool {
    switch byte {
    case UInt8(ascii: "."), Ascii.openBracket, Ascii.closeBracket, Ascii.quote, Ascii.backslash: false
    default: byte > 0x20 && byte < 0x7F
    }
  }

  private enum Step {
    case member(name: Range<Int>?)
    case element(Int)
  }

  /// The path of the value, or of the member's name, that the byte at `offset` belongs to. `text` was
  /// checked.
  static func of(_ offset: Int, in text: borrowing Span<UInt8>) -> String {
    var steps: [Step] = []
    var at = 0
    while at <= offset, at < text.count {
      switch text[at] {
      case Ascii.quote:
        let end = JSONWalk.endOfString(text, from: at)
        if case .member(nil) = steps.last { steps[steps.count - 1] = .member(name: at + 1..<end - 1) }
        at = end
        continue
      case Ascii.openBrace where at < offset: steps.append(.member(name: nil))
      case Ascii.openBracket where at < offset: steps.append(.element(0))
      case Ascii.closeBrace, Ascii.closeBracket: steps.removeLast()
      case Ascii.comma:
        switch steps.last {
        case .element(let index): steps[steps.count - 1] = .element(index + 1)
        case .member: steps[steps.count - 1] = .member(name: nil)
        case nil: break
        }
      default: break
      }
      at += 1
    }
    return written(steps, text)
  }

  private static func written(_ steps: [Step], _ text: borrowing Span<UInt8>) -> String {
    var path = ""
    for (count, step) in steps.enumerated() {
      if count == maxSteps { return path + "\u{2026}" }
      switch step {
      case .member(nil): break
      case .member(let name?):
        let bytes = JSONString.decoded(text, name).bytes
        path = member(String(decoding: bytes, as: UTF8.self), of: path)
      case .element(let index): path = element(index, of: path)
      }
    }
    return path
  }
}
