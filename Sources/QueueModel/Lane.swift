package import JSONText

/// A queue within the queue: its entries run one at a time, in the order in which they were accepted (D47).
package struct Lane: ByteComparedText {
  package let text: String

  package init(_ text: String) { self.text = text }

  /// Refuses what is no string of 1 to 256 bytes.
  package init(reading json: JSON, path: String) throws(InvalidInput) {
    text = try json.name(at: path)
  }
}
