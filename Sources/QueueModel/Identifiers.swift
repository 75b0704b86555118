package import JSONText

/// Text that is compared byte by byte, never by Unicode equivalence (D10).
package protocol ByteComparedText: Hashable, Comparable, Sendable, CustomStringConvertible {
  /// The text as the host wrote it, 1 to 256 bytes of UTF-8.
  var text: String { get }
}

extension ByteComparedText {
  package static func == (left: Self, right: Self) -> Bool {
    left.text.utf8.elementsEqual(right.text.utf8)
  }

  package static func < (left: Self, right: Self) -> Bool {
    left.text.utf8.lexicographicallyPrecedes(right.text.utf8)
  }

  package func hash(into hasher: inout Hasher) {
    var text = text
    text.withUTF8 { hasher.combine(bytes: UnsafeRawBufferPointer($0)) }
  }

  package var description: String { text }
}

/// The name that a host gives one entry, unique in the queue (D10).
package struct EntryID: ByteComparedText {
  package let text: String

  package init(_ text: String) { self.text = text }

  /// Refuses what is no string of 1 to 256 bytes.
  package init(reading json: JSON, path: String) throws(InvalidInput) {
    text = try json.name(at: path)
  }
}

/// The name of the kind of request that an entry is: the unit of pausing and of subscriptions (D10).
package struct EntryKey: ByteComparedText {
  package let text: String

  package init(_ text: String) { self.text = text }

  /// Refuses what is no string of 1 to 256 bytes.
  package init(reading json: JSON, path: String) throws(InvalidInput) {
    text = try json.name(at: path)
  }
}

/// Names one connection of a host; given by whoever accepts connections, never twice, over starts either:
/// what an entry remembers of an earlier start must name nobody.
package struct HostID: Hashable, Sendable {
  package let number: Int64

  package init(_ number: Int64) { self.number = number }
}

/// Names one attempt. A result counts only for the attempt that it names, so a late one can change nothing.
package struct AttemptID: Hashable, Sendable {
  /// The entry's creation number.
  package var entry: Int64
  package var generation: Int64
  /// The how-manieth attempt of this generation, from 1.
  package var ordinal: Int64
  /// Index of the part from 0; nil for an entry that is one request.
  package var part: Int?

  package init(entry: Int64, generation: Int64, ordinal: Int64, part: Int? = nil) {
    self.entry = entry
    self.generation = generation
    self.ordinal = ordinal
    self.part = part
  }
}

extension JSON {
  /// An id or a key (D10).
  func name(at path: String) throws(InvalidInput) -> String {
    guard let string, (1...Bounds.name).contains(string.utf8.count) else {
      throw InvalidInput(path: path, message: "must be a string of 1 to \(Bounds.name) bytes")
    }
    return string
  }
}
