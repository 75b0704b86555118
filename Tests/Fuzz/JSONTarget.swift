import Glibc

@testable import JSONText

/// What is accepted is what SQLite and the standard library's UTF-8 accept, and means the same; slices are
/// exact; what is written is read again.
final class JSONTarget: FuzzTarget {
  private let other: SQLiteJSON

  init() throws { other = try SQLiteJSON() }

  /// One text.
  func run(_ input: [UInt8]) throws {
    let scanned: ScannedLine
    do {
      scanned = try JSON.scan(input)
    } catch {
      try require((0...input.count).contains(error.offset), "a defect lies in the text")
      // SQLite 3.40 takes a name that is an object or array and ends in a string.
      let isOddName = error.offset < input.count && [0x5B, 0x7B].contains(input[error.offset])
      try require(isOddName || !isJSONElsewhere(input), "refused, and SQLite takes it: \(error.reason)")
      return
    }
    try require(canBeCompared(input) ? isJSONElsewhere(input) : true, "accepted, and SQLite refuses it")
    if let unfit = scanned.unfit {
      try require(input.indices.contains(unfit.offset), "what is unfit lies in the text")
      try require(unfit.reason == .tooDeep || !unfit.path.isEmpty || scanned.value.isScalar, "it has a path")
      return
    }
    let value = scanned.value
    var nodes: [SQLiteJSON.Node] = []
    var compact: [UInt8] = []
    try walk(value, name: nil, &nodes, &compact)
    try require(compact == JSONTarget.compact(input), "slices make up the text")
    if canBeCompared(input), !holdsNUL(input) {
      try require(other.nodes(input) == nodes, "SQLite sees other values")
    }
    try rewrite(value)
  }

  private func isJSONElsewhere(_ text: [UInt8]) -> Bool {
    canBeCompared(text) && String(validating: text, as: UTF8.self) != nil && other.isValid(text)
  }

  /// SQLite ends at a NUL, and refuses 2000 brackets in each other.
  private func canBeCompared(_ text: [UInt8]) -> Bool {
    !text.contains(0) && text.reduce(0) { $0 + ($1 | 0x20 == UInt8(ascii: "{") ? 1 : 0) } < 1900
  }

  /// As an escape; SQLite ends a string there.
  private func holdsNUL(_ text: [UInt8]) -> Bool { text.contains(Array(#"\u0000"#.utf8)) }

  /// What SQLite should see of the value, and the value without white space, put together from its slices.
  private func walk(
    _ value: JSON, name: [UInt8]?, _ nodes: inout [SQLiteJSON.Node], _ compact: inout [UInt8]
  ) throws {
    nodes.append(SQLiteJSON.Node(type: value.typeInSQLite, name: name, text: nil))
    switch value.kind {
    case .object:
      compact.append(UInt8(ascii: "{"))
      var (members, names) = (MemberSlices(value), value.members())
      var isFirst = true
      while let member = members.next() {
        if !isFirst { compact.append(UInt8(ascii: ",")) }
        isFirst = false
        compact += value.storage[member.name.lowerBound - 1...member.name.upperBound]
        compact.append(UInt8(ascii: ":"))
        let name = JSONString.value(value.storage.span, member.name)
        try require(names.next()?.key.utf8.elementsEqual(name) ?? false, "names come decoded")
        try walk(value.value(member.value), name: name, &nodes, &compact)
      }
      compact.append(UInt8(ascii: "}"))
    case .array:
      compact.append(UInt8(ascii: "["))
      for (index, element) in value.elements().enumerated() {
        if index > 0 { compact.append(UInt8(ascii: ",")) }
        try walk(element, name: nil, &nodes, &compact)
      }
      compact.append(UInt8(ascii: "]"))
    case .string:
      guard let text = value.string else { throw Broken("a string that is fit can be read") }
      nodes[nodes.count - 1].text = Array(text.utf8)
      compact += value.text
      let again = JSON(writing: { $0.value(text) })
      try require(again.string?.utf8.elementsEqual(text.utf8) ?? false, "a string is written and read again")
    case .number:
      compact += value.text
      try compareNumber(value)
    case .true, .false, .null: compact += value.text
    }
  }

  private func compareNumber(_ value: JSON) throws {
    let text = value.description
    let double = strtod(text, nil)
    try require(value.double == double, "\(text) is \(double) in C")
    if let integer = value.integer { try require(Int64(text) == integer, "\(text) is no \(integer)") }
    let digits = text.utf8.dropFirst(text.hasPrefix("-") ? 1 : 0)
    let isPlain = digits.allSatisfy { (0x30...0x39).contains($0) }
    try require(value.integer != nil || !isPlain || Int64(text) == nil, "\(text) is an integer")
  }

  private func rewrite(_ value: JSON) throws {
    let written = JSON(writing: { $0.raw(value) })
    try require((try? JSON.scan(Array(written.text))) != nil, "what is written is JSON")
    try require(written.isEquivalent(to: value), "and the same value")
    try require(written.equivalenceDigest == value.equivalenceDigest, "with the same digest")
    try require(!written.text.contains { $0 < 0x20 && $0 != 0x09 || $0 == 0x7F }, "without line ends")
    try require(value.detached() == value, "a slice lets go of its storage")
    let slots = value.slots(markedBy: "$bind")
    try require(value.filling(slots, with: slots.map(\.object)).elementsEqual(value.text), "slots are exact")
    for slot in slots { _ = value.path(of: slot) }
    _ = value.duplicateMember()
  }

  /// Without the white space outside of strings.
  private static func compact(_ text: [UInt8]) -> [UInt8] {
    var compact: [UInt8] = []
    var (isString, isEscaped) = (false, false)
    for byte in text {
      if !isString, [0x20, 0x09, 0x0A, 0x0D].contains(byte) { continue }
      compact.append(byte)
      if isEscaped {
        isEscaped = false
      } else if byte == UInt8(ascii: "\"") {
        isString.toggle()
      } else {
        isEscaped = isString && byte == UInt8(ascii: "\\")
      }
    }
    return compact
  }
}

extension JSON {
  fileprivate var isScalar: Bool { kind != .object && kind != .array }

  fileprivate var typeInSQLite: String {
    switch kind {
    case .object: "object"
    case .array: "array"
    case .string: "text"
    case .number: text.contains { [0x2E, 0x65, 0x45].contains($0) } ? "real" : "integer"
    case .true: "true"
    case .false: "false"
    case .null: "null"
    }
  }
}
