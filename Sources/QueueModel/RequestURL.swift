/// An http or https URL that can be sent (D33): has a host and no user information, holds ASCII only, keeps
/// existing escapes. Scheme and host are in lower case, the host in its ASCII form, a port that is empty is
/// left out.
package struct RequestURL: Sendable, Equatable, Hashable {
  /// The URL as it goes to the transport.
  package let text: String
  package let origin: Origin

  init(text: String, origin: Origin) {
    self.text = text
    self.origin = origin
  }

  /// - Parameter path: Where the text stands, for the refusal.
  package init(reading text: String, path: String) throws(InvalidInput) {
    func refusal(_ message: String) -> InvalidInput { InvalidInput(path: path, message: message) }

    let bytes = Array(text.utf8)
    guard let scheme = Scheme.allCases.first(where: { HTTPText.hasPrefix(bytes, $0.rawValue + "://") }) else {
      throw refusal("must be an http or https URL")
    }
    let authorityBegin = scheme.rawValue.utf8.count + 3
    let authorityEnd =
      bytes[authorityBegin...].firstIndex(where: Self.endsAuthority) ?? bytes.endIndex
    guard !HTTPText.hasControl(text, orSpace: true) else {
      throw refusal("must not hold a raw space or control character; write it as %XX")
    }
    let authority = bytes[authorityBegin..<authorityEnd]
    guard !authority.contains(UInt8(ascii: "@")) else {
      throw refusal("must not hold a user name or password; send them in a header")
    }
    let (host, portText) = try Self.split(authority, refusal)
    let hostName: String
    do throws(HostName.Defect) { hostName = try HostName.ascii(host) } catch { throw refusal(error.message) }
    let port = try Self.port(portText, refusal)

    // Joined as bytes: each entry that is read comes by here, and strings take five times as long.
    var site: [UInt8] = []
    site.reserveCapacity(bytes.count + 8)
    site += scheme.rawValue.utf8
    site += "://".utf8
    site += hostName.utf8
    var written = site
    if let port { written += ":\(port)".utf8 }
    written += HTTPText.percentEncoded(bytes[authorityEnd...]).utf8
    guard written.count <= Bounds.requestHead else {
      throw refusal("must have at most \(Bounds.requestHead) bytes")
    }
    self.text = String(decoding: written, as: UTF8.self)
    site += ":\(port ?? scheme.defaultPort)".utf8
    origin = Origin(text: String(decoding: site, as: UTF8.self))
  }

  /// A URL that is to be one value as a whole, `{name}`; it has no origin before the value is there. nil for
  /// every other text.
  init?(template text: String) {
    guard text.hasPrefix("{"), text.hasSuffix("}"), Binding.isName(text.dropFirst().dropLast()) else {
      return nil
    }
    self.init(text: text, origin: Origin(text: ""))
  }

  private static func endsAuthority(_ byte: UInt8) -> Bool {
    byte == UInt8(ascii: "/") || byte == UInt8(ascii: "?") || byte == UInt8(ascii: "#")
  }

  private static let colon = UInt8(ascii: ":")

  private enum Scheme: String, CaseIterable {
    case http, https

    var defaultPort: Int64 { self == .http ? 80 : 443 }
  }

  /// The host, brackets included, and what follows its colon.
  private static func split(
    _ authority: ArraySlice<UInt8>, _ refusal: (String) -> InvalidInput
  ) throws(InvalidInput) -> (host: ArraySlice<UInt8>, port: ArraySlice<UInt8>?) {
    var hostEnd = authority.firstIndex(of: colon) ?? authority.endIndex
    if authority.first == UInt8(ascii: "[") {
      guard let bracket = authority.firstIndex(of: UInt8(ascii: "]")) else {
        throw refusal("must close the bracket of its IPv6 address")
      }
      hostEnd = bracket + 1
    }
    guard hostEnd > authority.startIndex else { throw refusal("must name a host") }
    if hostEnd == authority.endIndex { return (authority, nil) }
    guard authority[hostEnd] == colon else { throw refusal("must have only a port behind its IPv6 address") }
    return (authority[..<hostEnd], authority[(hostEnd + 1)...])
  }

  private static func port(
    _ text: ArraySlice<UInt8>?, _ refusal: (String) -> InvalidInput
  ) throws(InvalidInput) -> Int64? {
    // RFC 3986, section 3.2.3: a colon with nothing behind it is the default port.
    guard let text, !text.isEmpty else { return nil }
    guard text.allSatisfy(HTTPText.isDigit), let port = Int64(String(decoding: text, as: UTF8.self)),
      (1...65535).contains(port)
    else { throw refusal("must have a port from 1 to 65535") }
    return port
  }
}

/// Scheme, host and port (RFC 6454); the host in lower case, the port always given.
package struct Origin: Sendable, Hashable, CustomStringConvertible {
  /// Like `https://example.com:443`.
  package let text: String

  package init(text: String) { self.text = text }

  package var description: String { text }
}
