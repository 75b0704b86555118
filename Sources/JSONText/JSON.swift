/// One JSON value, byte for byte as it was written.
///
/// A value is a byte range of shared storage: slicing copies nothing, and a slice keeps the whole storage
/// alive (`detached()` lets go of it). The text was checked once, when it was scanned; reading it trusts
/// that.
package struct JSON: Sendable {
  package enum Kind: Sendable, Equatable {
    case object, array, string, number, `true`, `false`, null
  }

  /// The deepest nesting of arrays and objects that is kept, the outermost one included (protocol.md
  /// section 1).
  package static let maxDepth = 256

  package static let null = JSON(trusted: Array("null".utf8))
  package static let emptyObject = JSON(trusted: Array("{}".utf8))

  let storage: [UInt8]
  let lower: Int
  let upper: Int

  /// A range of checked storage that holds exactly one value.
  init(storage: [UInt8], lower: Int, upper: Int) {
    self.storage = storage
    self.lower = lower
    self.upper = upper
  }

  /// Checks that `bytes` are exactly one value, with or without whitespace around it, and hold nothing unfit.
  package init(checking bytes: [UInt8]) throws(JSONDefect) {
    let scanned = try JSON.scan(bytes)
    if let unfit = scanned.unfit {
      throw JSONDefect(offset: unfit.offset, reason: unfit.reason.message, path: unfit.path)
    }
    self = scanned.value
  }

  /// Takes text that was checked before it was stored, or that a `JSONWriter` wrote. Only debug builds
  /// check it.
  package init(trusted bytes: [UInt8]) {
    assert((try? JSON.scan(bytes)) != nil, "trusted text must be one JSON value")
    let range = JSONWalk.trimmed(bytes.span)
    self.init(storage: bytes, lower: range.lowerBound, upper: range.upperBound)
  }

  /// The value that `write` writes; it must write exactly one.
  package init(writing write: (inout JSONWriter) -> Void) {
    var writer = JSONWriter()
    write(&writer)
    self.init(trusted: writer.bytes)
  }

  /// Checks a whole text: the grammar of RFC 8259, UTF-8, and what of it cannot be kept.
  ///
  /// Depth costs no stack: any nesting is read, also one of many millions.
  package static func scan(_ bytes: [UInt8]) throws(JSONDefect) -> ScannedLine {
    var scanner = JSONScanner()
    let range = try scanner.scan(bytes.span)
    let unfit = scanner.firstUnfit.map { found in
      Unfit(
        reason: found.reason, offset: found.offset,
        path: JSONPath.of(found.offset, in: bytes.span))
    }
    let value = JSON(storage: bytes, lower: range.lowerBound, upper: range.upperBound)
    return ScannedLine(value: value, unfit: unfit)
  }

  package var kind: Kind {
    switch storage[lower] {
    case UInt8(ascii: "{"): .object
    case UInt8(ascii: "["): .array
    case UInt8(ascii: "\""): .string
    case UInt8(ascii: "t"): .true
    case UInt8(ascii: "f"): .false
    case UInt8(ascii: "n"): .null
    default: .number
    }
  }

  /// The exact bytes, without whitespace around them.
  package var text: ArraySlice<UInt8> { storage[lower..<upper] }

  /// The length of `text` in bytes.
  package var count: Int { upper - lower }

  /// The same value with storage of its own, so that a small part does not keep a large line alive.
  package func detached() -> JSON {
    if count == storage.count { return self }
    return JSON(storage: Array(text), lower: 0, upper: count)
  }
}

extension JSON: Equatable {
  /// Equal bytes. `isEquivalent(to:)` compares values.
  package static func == (left: JSON, right: JSON) -> Bool { left.text == right.text }
}

extension JSON: CustomStringConvertible {
  package var description: String { String(decoding: text, as: UTF8.self) }
}
