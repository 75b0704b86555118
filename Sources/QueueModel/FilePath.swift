/// An absolute path, byte for byte, without NUL (D29).
package struct FilePath: Sendable, Hashable {
  package let bytes: [UInt8]

  package init(bytes: [UInt8]) { self.bytes = bytes }

  /// Reads an absolute path, taken as it is, or a `file://` URL, percent-decoded.
  package init(reading text: String, path: String) throws(InvalidInput) {
    let given = Array(text.utf8)
    var bytes = given
    if HTTPText.hasPrefix(given, "file:") { bytes = try Self.decoded(url: given, path: path) }
    guard bytes.first == UInt8(ascii: "/") else {
      throw InvalidInput(path: path, message: "must be an absolute path or a file:// URL")
    }
    guard !bytes.contains(0) else { throw InvalidInput(path: path, message: "must not hold a NUL") }
    self.bytes = bytes
  }

  /// The path as `init(reading:)` takes it: itself when it is UTF-8, else a `file://` URL.
  var text: String {
    if let text = String(validating: bytes, as: UTF8.self) { return text }
    var url = Array("file://".utf8)
    for byte in bytes {
      if byte < 0x80, HTTPText.isToken(byte) || byte == UInt8(ascii: "/"), byte != UInt8(ascii: "%"),
        byte != UInt8(ascii: "#")
      {
        url.append(byte)
      } else {
        HTTPText.appendEscape(byte, to: &url)
      }
    }
    return String(decoding: url, as: UTF8.self)
  }

  /// The path of a `file` URL (RFC 8089) that names this machine.
  private static func decoded(url: [UInt8], path: String) throws(InvalidInput) -> [UInt8] {
    let prefix = ["file:///", "file://localhost/"].first { HTTPText.hasPrefix(url, $0) }
    guard let prefix else {
      throw InvalidInput(path: path, message: "must be a file:// URL of an absolute path on this machine")
    }
    var rest = url[(prefix.utf8.count - 1)...]
    var bytes: [UInt8] = []
    while let byte = rest.popFirst() {
      switch byte {
      case UInt8(ascii: "?"), UInt8(ascii: "#"):
        throw InvalidInput(path: path, message: "must be a file:// URL that writes ? as %3F and # as %23")
      case UInt8(ascii: "%"):
        guard let high = rest.popFirst().flatMap(HTTPText.hexValue),
          let low = rest.popFirst().flatMap(HTTPText.hexValue)
        else {
          throw InvalidInput(
            path: path, message: "must be a file:// URL with two hexadecimal digits behind each %")
        }
        bytes.append(high << 4 | low)
      default: bytes.append(byte)
      }
    }
    return bytes
  }
}
