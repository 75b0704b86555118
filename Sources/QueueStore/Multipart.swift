import QueueModel

/// A `multipart/form-data` body (RFC 7578) as pieces of bytes and files, in order.
struct Multipart {
  enum Piece {
    case bytes([UInt8])
    /// Index of the field whose file stands here.
    case file(field: Int)
  }

  let boundary: String
  let pieces: [Piece]

  /// With a boundary that occurs in none of the strings. The boundary needs no quotes, since some servers
  /// cannot read them; it has 128 random bits, so files are not searched for it.
  init(_ fields: [FormField], randomness: any Randomness) {
    var boundary: String
    repeat {
      boundary = "outtray-" + Multipart.hex(randomness.next()) + Multipart.hex(randomness.next())
    } while fields.contains { $0.contains(boundary) }
    self.boundary = boundary
    pieces = Multipart.pieces(of: fields, boundary: boundary)
  }

  /// As it was before, told by its content type.
  init(_ fields: [FormField], contentType: String) {
    boundary = String(contentType.dropFirst(Multipart.mediaType.count))
    pieces = Multipart.pieces(of: fields, boundary: boundary)
  }

  private static let mediaType = "multipart/form-data; boundary="

  var contentType: String { Multipart.mediaType + boundary }

  private static func pieces(of fields: [FormField], boundary: String) -> [Piece] {
    var pieces: [Piece] = []
    var bytes: [UInt8] = []
    for (index, field) in fields.enumerated() {
      bytes += "--\(boundary)\r\n".utf8
      bytes += "Content-Disposition: form-data; name=\"".utf8
      bytes += escaped(field.name.utf8)
      bytes += "\"".utf8
      if case .path(let path, let fileName) = field.content {
        bytes += "; filename=\"".utf8
        bytes += escaped(fileName.map { Array($0.utf8) } ?? path.lastComponent)
        bytes += "\"".utf8
      }
      bytes += "\r\nContent-Type: \(field.contentType)\r\n\r\n".utf8
      switch field.content {
      case .string(let string): bytes += string.utf8
      case .path:
        pieces += [.bytes(bytes), .file(field: index)]
        bytes = []
      }
      bytes += "\r\n".utf8
    }
    bytes += "--\(boundary)--\r\n".utf8
    pieces.append(.bytes(bytes))
    return pieces
  }

  /// As browsers do it: the three characters that would end the name, and no other.
  private static func escaped(_ name: some Sequence<UInt8>) -> [UInt8] {
    name.flatMap { byte -> [UInt8] in
      switch byte {
      case UInt8(ascii: "\""): Array("%22".utf8)
      case UInt8(ascii: "\r"): Array("%0D".utf8)
      case UInt8(ascii: "\n"): Array("%0A".utf8)
      default: [byte]
      }
    }
  }

  private static func hex(_ bits: UInt64) -> String {
    let digits = String(bits, radix: 16)
    return String(repeating: "0", count: 16 - digits.utf8.count) + digits
  }
}

extension FormField {
  fileprivate func contains(_ boundary: String) -> Bool {
    switch content {
    case .string(let string):
      string.utf8.indices.contains { string.utf8[$0...].starts(with: boundary.utf8) }
    case .path: false
    }
  }
}

extension FilePath {
  /// Behind the last slash.
  var lastComponent: [UInt8] {
    Array(bytes.reversed().prefix { $0 != UInt8(ascii: "/") }.reversed())
  }
}
