/// Writes JSON text. Commas come by themselves; that brackets and names are in order is up to the caller.
///
/// Strings hold raw UTF-8, but for the quote, the backslash, the C0 controls, DEL, U+2028 and U+2029, which
/// are escaped; `/` is not (protocol.md section 1).
package struct JSONWriter: Sendable {
  /// What is written so far.
  package var bytes: [UInt8]

  /// Whether the next value or name at this place follows another one.
  private var needsComma = false

  /// Writes behind `bytes`.
  package init(_ bytes: [UInt8] = []) {
    self.bytes = bytes
    // A frame is seldom shorter; from nothing the array would grow five times on the way.
    if bytes.isEmpty { self.bytes.reserveCapacity(JSONWriter.usualBytes) }
  }

  private static let usualBytes = 224

  package mutating func beginObject() { begin(Ascii.openBrace) }
  package mutating func endObject() { end(Ascii.closeBrace) }
  package mutating func beginArray() { begin(Ascii.openBracket) }
  package mutating func endArray() { end(Ascii.closeBracket) }

  /// A member's name; its value must follow.
  package mutating func key(_ name: String) {
    separate()
    JSONEscapes.append(name, to: &bytes)
    bytes.append(Ascii.colon)
    needsComma = false
  }

  package mutating func value(_ value: String) {
    separate()
    JSONEscapes.append(value, to: &bytes)
  }

  package mutating func value(_ value: Int64) {
    separate()
    if value < 0 { bytes.append(Ascii.minus) }
    var low = bytes.count
    var rest = value.magnitude
    repeat {
      bytes.append(Ascii.zero + UInt8(truncatingIfNeeded: rest % 10))
      rest /= 10
    } while rest > 0
    // The last digit came first.
    var high = bytes.count - 1
    while low < high {
      bytes.swapAt(low, high)
      low += 1
      high -= 1
    }
  }

  package mutating func value(_ value: Int) { self.value(Int64(value)) }

  package mutating func value(_ value: Bool) {
    separate()
    bytes.append(contentsOf: (value ? "true" : "false").utf8)
  }

  /// The shortest text that reads back as the same double. JSON has no text for infinities and NaN: `value`
  /// must be finite.
  package mutating func value(_ value: Double) {
    precondition(value.isFinite, "JSON numbers are finite")
    separate()
    bytes.append(contentsOf: value.description.utf8)
  }

  package mutating func null() {
    separate()
    bytes.append(contentsOf: "null".utf8)
  }

  /// Stored text inside a frame: its bytes, but DEL, U+2028 and U+2029 are escaped, and a line break
  /// between tokens is a space.
  package mutating func raw(_ value: JSON) {
    separate()
    JSONEscapes.append(value, to: &bytes)
  }

  /// Stored text, byte for byte. For request bodies; a frame takes `raw`.
  package mutating func rawExact(_ value: JSON) {
    separate()
    bytes.append(contentsOf: value.text)
  }

  @inline(__always)
  private mutating func separate() {
    if needsComma { bytes.append(Ascii.comma) }
    needsComma = true
  }

  private mutating func begin(_ bracket: UInt8) {
    separate()
    bytes.append(bracket)
    needsComma = false
  }

  private mutating func end(_ bracket: UInt8) {
    bytes.append(bracket)
    needsComma = true
  }
}

extension JSONWriter {
  package mutating func member(_ name: String, _ value: String) {
    key(name)
    self.value(value)
  }

  package mutating func member(_ name: String, _ value: Int64) {
    key(name)
    self.value(value)
  }

  package mutating func member(_ name: String, _ value: Int) {
    key(name)
    self.value(value)
  }

  package mutating func member(_ name: String, _ value: Bool) {
    key(name)
    self.value(value)
  }

  package mutating func member(_ name: String, _ value: Double) {
    key(name)
    self.value(value)
  }

  /// Stored text, as `raw` writes it.
  package mutating func member(_ name: String, _ value: JSON) {
    key(name)
    raw(value)
  }

  /// A member whose value `write` writes: exactly one.
  package mutating func member(_ name: String, _ write: (inout JSONWriter) -> Void) {
    key(name)
    write(&self)
  }

  /// An object whose members `write` writes.
  package mutating func object(_ write: (inout JSONWriter) -> Void) {
    beginObject()
    write(&self)
    endObject()
  }

  /// An array whose elements `write` writes.
  package mutating func array(_ write: (inout JSONWriter) -> Void) {
    beginArray()
    write(&self)
    endArray()
  }
}
