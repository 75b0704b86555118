import Glibc

@testable import QueueModel
@testable import QueueStore

/// Forms of any fields, taken apart again by a small reader here and by Go's standard library, which is there
/// when FORM_PARSER names its program.
final class MultipartTarget: FuzzTarget {
  private let parser: FormParser?

  init() throws { parser = try getenv("FORM_PARSER").map { try FormParser(String(cString: $0)) } }

  /// Fields, and the bytes of their files.
  func run(_ input: [UInt8]) throws {
    var choices = Choices(input)
    let randomness = Rising(UInt64(choices.byte()))
    var (fields, expected): ([FormField], [FormPart]) = ([], [])
    for _ in 0..<(1 + choices.below(4)) {
      guard let (field, part) = MultipartTarget.field(&choices) else { return }
      fields.append(field)
      expected.append(part)
    }
    let form = Multipart(fields, randomness: randomness)
    let boundary = Array(form.boundary.utf8)
    // Files are not searched: the boundary has 128 random bits (here they are not random).
    if zip(fields, expected).contains(where: { $0.isFile && $1.content[...].first(boundary) != nil }) {
      return
    }
    let body = form.pieces.flatMap { piece in
      switch piece {
      case .bytes(let bytes): bytes
      case .file(let field): expected[field].content
      }
    }
    try require(MultipartTarget.parts(of: body, boundary) == expected, "the form has other parts")
    let again = Multipart(fields, contentType: form.contentType)
    try require(again.boundary == form.boundary, "the content type tells the boundary")
    guard let parser, expected.allSatisfy(\.isPlain) else { return }
    try require(parser.sees(expected, in: body, boundary: form.boundary), "Go sees another form")
  }

  /// nil for one that a descriptor cannot have.
  private static func field(_ choices: inout Choices) -> (FormField, FormPart)? {
    let (isFile, isNamed) = (choices.bool(), choices.bool())
    let (name, type) = (choices.text(), choices.text())
    let content = choices.run()
    guard !name.isEmpty, !type.isEmpty, (try? HeaderRules.check(value: type, path: "")) != nil else {
      return nil
    }
    var field = FormField(
      name: name, contentType: type, content: .string(String(decoding: content, as: UTF8.self)))
    var part = FormPart(
      name: written(Array(name.utf8)), contentType: Array(type.utf8).trimmed, content: content)
    if isFile {
      let path = [0x2F] + choices.run().filter { $0 != 0 }
      let fileName = isNamed ? choices.text() : nil
      if fileName?.isEmpty == true { return nil }
      field.content = .path(FilePath(bytes: path), fileName: fileName)
      let last = path.split(separator: 0x2F, omittingEmptySubsequences: false).last.map { Array($0) } ?? []
      part.fileName = written(fileName.map { Array($0.utf8) } ?? last)
    } else if case .string(let text) = field.content {
      part.content = Array(text.utf8)
    }
    return (field, part)
  }

  /// A name as it stands in a form (A-FORM-01, A-FORM-02).
  private static func written(_ name: [UInt8]) -> [UInt8] {
    name.flatMap { byte in
      switch byte {
      case 0x22, 0x0D, 0x0A: Array("%\(byte == 0x22 ? "22" : byte == 0x0D ? "0D" : "0A")".utf8)
      default: [byte]
      }
    }
  }

  private static let lineEnd: [UInt8] = [0x0D, 0x0A]
  private static let head = Array("\r\nContent-Disposition: form-data; name=\"".utf8)

  /// Cuts at every delimiter line; nil when something is left over.
  private static func parts(of body: [UInt8], _ boundary: [UInt8]) -> [FormPart]? {
    let pieces = (lineEnd + body)[...].cut(at: lineEnd + [0x2D, 0x2D] + boundary)
    guard pieces[0].isEmpty, pieces.last?.elementsEqual("--\r\n".utf8) == true else { return nil }
    var parts: [FormPart] = []
    for piece in pieces.dropFirst().dropLast() {
      guard piece.starts(with: head), let end = piece.first(lineEnd + lineEnd) else { return nil }
      let lines = piece[..<end.lowerBound].dropFirst(2).cut(at: lineEnd)
      guard lines.count == 2 else { return nil }
      let quoted = lines[0].split(separator: UInt8(ascii: "\""), omittingEmptySubsequences: false)
      let isSound = quoted.count == 3 || quoted.count == 5 && quoted[2].elementsEqual("; filename=".utf8)
      guard isSound, lines[1].starts(with: "Content-Type: ".utf8) else { return nil }
      parts.append(
        FormPart(
          name: Array(quoted[1]), fileName: quoted.count == 5 ? Array(quoted[3]) : nil,
          contentType: Array(lines[1].dropFirst(14)).trimmed, content: Array(piece[end.upperBound...])))
    }
    return parts
  }
}

/// Numbers that rise by one.
private final class Rising: Randomness, @unchecked Sendable {
  private var value: UInt64

  init(_ first: UInt64) { value = first }

  func next() -> UInt64 {
    defer { value &+= 1 }
    return value
  }
}

extension FormField {
  fileprivate var isFile: Bool {
    switch content {
    case .path: true
    case .string: false
    }
  }
}

extension FormPart {
  /// Go ends at control characters in a head, and takes a backslash for an escape, which browsers do not.
  fileprivate var isPlain: Bool {
    [name, fileName ?? [], contentType].allSatisfy { text in
      text.allSatisfy { $0 >= 0x20 && $0 != 0x7F && $0 != 0x5C }
    }
  }
}

extension [UInt8] {
  /// Without the blanks around it, which do not belong to a header's value.
  fileprivate var trimmed: [UInt8] {
    let isBlank = { (byte: UInt8) in byte == 0x20 || byte == 0x09 }
    return drop(while: isBlank).reversed().drop(while: isBlank).reversed()
  }
}

extension ArraySlice<UInt8> {
  /// Where these bytes stand first. By the C library, since the standard one takes most of an execution.
  fileprivate func first(_ bytes: [UInt8]) -> Range<Int>? {
    withUnsafeBytes { all in
      var at = 0
      while at + bytes.count <= all.count,
        let found = memchr(all.baseAddress! + at, Int32(bytes[0]), all.count - bytes.count - at + 1)
      {
        at = UnsafeRawPointer(found) - all.baseAddress!
        if memcmp(found, bytes, bytes.count) == 0 { return startIndex + at..<startIndex + at + bytes.count }
        at += 1
      }
      return nil
    }
  }

  /// What is before, between and behind these bytes, each time that they stand there.
  fileprivate func cut(at bytes: [UInt8]) -> [ArraySlice<UInt8>] {
    var (pieces, rest): ([ArraySlice<UInt8>], ArraySlice<UInt8>) = ([], self)
    while let next = rest.first(bytes) {
      pieces.append(rest[..<next.lowerBound])
      rest = rest[next.upperBound...]
    }
    return pieces + [rest]
  }
}
