import JSONText

/// Input that cannot be understood or sent: `E_INVALID` on the wire.
package struct InvalidInput: Error, Sendable, Equatable {
  /// Where it stands, from the params on, such as `request.headers.Host`; empty is the params themselves.
  package let path: String
  /// What is right there, such as "must be a string"; reads on from the path. Holds no header value, query
  /// string or body byte.
  package let message: String

  package init(path: String, message: String) {
    self.path = path
    self.message = message
  }
}

extension JSON {
  /// The string, or a refusal that names `path`.
  func string(at path: String) throws(InvalidInput) -> String {
    guard let string else { throw InvalidInput(path: path, message: "must be a string") }
    return string
  }

  func nonEmptyString(at path: String) throws(InvalidInput) -> String {
    guard let string, !string.isEmpty else {
      throw InvalidInput(path: path, message: "must be a non-empty string")
    }
    return string
  }

  func bool(at path: String) throws(InvalidInput) -> Bool {
    guard let bool else { throw InvalidInput(path: path, message: "must be true or false") }
    return bool
  }

  /// The whole number, in whatever spelling (`1000`, `1000.0`, `1e3`): hosts whose numbers are doubles write
  /// all of them.
  func integer(at path: String, in range: ClosedRange<Int64>) throws(InvalidInput) -> Int64 {
    if let number = wholeNumber, range.contains(number) { return number }
    throw InvalidInput(
      path: path, message: "must be an integer from \(range.lowerBound) to \(range.upperBound)")
  }

  private var wholeNumber: Int64? {
    if let integer { return integer }
    guard let double, double.magnitude <= Double(Bounds.integer) else { return nil }
    return Int64(exactly: double)
  }

  /// The elements of an array, each with its path.
  func array(at path: String) throws(InvalidInput) -> [(path: String, value: JSON)] {
    guard kind == .array else { throw InvalidInput(path: path, message: "must be an array") }
    return elements().enumerated().map { (JSONPath.element($0.offset, of: path), $0.element) }
  }
}
