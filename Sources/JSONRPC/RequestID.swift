package import JSONText

/// The id of a request: a string of at most 128 bytes of UTF-8, or an integer with |n| <= 2^53-1.
///
/// Two ids are equal when their values are: `"a"` and `"\u0061"` are one id, `1` and `"1"` are two. Strings
/// compare byte by byte.
package struct RequestID: Sendable {
  /// The most bytes of a string, decoded.
  package static let maxBytes = 128

  /// The largest magnitude that every peer reads exactly: 2^53-1.
  package static let maxInteger: Int64 = 9_007_199_254_740_991

  /// The id as it was written, for the answer.
  package let raw: JSON

  private enum Value: Hashable {
    case string([UInt8])
    case integer(Int64)
  }

  private let value: Value

  /// nil when `raw` is neither.
  package init?(_ raw: JSON) {
    if let integer = raw.integer, (-Self.maxInteger...Self.maxInteger).contains(integer) {
      value = .integer(integer)
    } else if let string = raw.string, string.utf8.count <= Self.maxBytes {
      value = .string(Array(string.utf8))
    } else {
      return nil
    }
    // An id outlives its line, which may be large.
    self.raw = raw.detached()
  }
}

extension RequestID: Hashable {
  package static func == (left: RequestID, right: RequestID) -> Bool { left.value == right.value }
  package func hash(into hasher: inout Hasher) { hasher.combine(value) }
}

extension RequestID {
  /// The id that a line of a server answers; nil for a notification, for `id: null`, and for what is no
  /// message.
  package init?(answeredBy line: [UInt8]) {
    guard let message = try? JSON.scan(line).value, message.kind == .object, let id = message["id"] else {
      return nil
    }
    self.init(id)
  }
}
