import JSONText

/// A value as a tree, written in a random spelling and read back.
indirect enum Tree: Equatable {
  case scalar(String)
  case text([UInt8])
  case array([Tree])
  case object([Member])

  struct Member: Equatable {
    let name: [UInt8]
    let value: Tree
  }

  init(_ value: JSON) {
    switch value.kind {
    case .object:
      self = .object(value.members().map { Member(name: Array($0.key.utf8), value: Tree($0.value)) })
    case .array: self = .array(value.elements().map { Tree($0) })
    case .string: self = .text(Array((value.string ?? "no string").utf8))
    case .number, .true, .false, .null: self = .scalar(value.description)
    }
  }

  static func random(_ depth: Int, _ random: inout SeededGenerator) -> Tree {
    switch Int.random(in: 0..<(depth > 0 ? 10 : 6), using: &random) {
    case 0...2: return .scalar(scalars.randomElement(using: &random) ?? "0")
    case 3...5: return .text(randomText(&random))
    case 6...7:
      return .array((0..<Int.random(in: 0..<5, using: &random)).map { _ in .random(depth - 1, &random) })
    default:
      return .object(
        (0..<Int.random(in: 0..<5, using: &random)).map { _ in
          Member(name: randomText(&random), value: .random(depth - 1, &random))
        })
    }
  }

  private static let scalars = [
    "null", "true", "false", "0", "-0", "1.0", "12e+3", "-4.50E-7", "99999999999999999999",
  ]
  private static let characters: [Unicode.Scalar] = [
    "a", "B", "7", " ", "\"", "\\", "/", "\u{0}", "\n", "\u{1F}", "\u{7F}", "\u{E9}", "\u{301}", "\u{2028}",
    "\u{FFFF}", "\u{1F600}", "{", "]", ",", ":",
  ]

  private static func randomText(_ random: inout SeededGenerator) -> [UInt8] {
    var text = ""
    for _ in 0..<Int.random(in: 0..<14, using: &random) {
      text.unicodeScalars.append(characters.randomElement(using: &random) ?? "a")
    }
    return Array(text.utf8)
  }

  func spelled(_ random: inout SeededGenerator) -> String {
    func space(_ random: inout SeededGenerator) -> String {
      ["", "", " ", "\t", "\r\n"].randomElement(using: &random) ?? ""
    }
    let inner: String
    switch self {
    case .scalar(let text): inner = text
    case .text(let bytes): inner = Tree.quoted(bytes, &random)
    case .array(let elements):
      inner = "[" + elements.map { $0.spelled(&random) }.joined(separator: ",") + space(&random) + "]"
    case .object(let members):
      let written = members.map {
        space(&random) + Tree.quoted($0.name, &random) + space(&random) + ":" + $0.value.spelled(&random)
      }
      inner = "{" + written.joined(separator: ",") + space(&random) + "}"
    }
    return space(&random) + inner + space(&random)
  }

  private static func quoted(_ bytes: [UInt8], _ random: inout SeededGenerator) -> String {
    var text = "\""
    for scalar in String(decoding: bytes, as: UTF8.self).unicodeScalars {
      let mustEscape = scalar.value < 0x20 || scalar == "\"" || scalar == "\\"
      if !mustEscape, Bool.random(using: &random) {
        text.unicodeScalars.append(scalar)
        continue
      }
      for unit in String(scalar).utf16 {
        let digits = String(unit, radix: 16, uppercase: Bool.random(using: &random))
        text += "\\u" + String(repeating: "0", count: 4 - digits.count) + digits
      }
    }
    return text + "\""
  }

  func write(_ writer: inout JSONWriter) throws {
    switch self {
    case .scalar(let text): writer.raw(try json(text))
    case .text(let bytes): writer.value(String(decoding: bytes, as: UTF8.self))
    case .array(let elements):
      writer.beginArray()
      for element in elements { try element.write(&writer) }
      writer.endArray()
    case .object(let members):
      writer.beginObject()
      for member in members {
        writer.key(String(decoding: member.name, as: UTF8.self))
        try member.value.write(&writer)
      }
      writer.endObject()
    }
  }
}
