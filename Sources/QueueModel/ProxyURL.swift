/// The URL of a proxy, as `configure.proxy` takes it (D23).
enum ProxyURL {
  private static let schemes = ["http", "https", "socks4", "socks4a", "socks5", "socks5h"]

  /// The text as it was given; "" uses no proxy. It may hold a user and password, so a refusal does not
  /// repeat it.
  static func checked(_ text: String, path: String) throws(InvalidInput) -> String {
    if text.isEmpty { return text }
    let bytes = Array(text.utf8)
    let scheme = schemes.first { HTTPText.hasPrefix(bytes, $0 + "://") }
    guard let scheme, !HTTPText.hasControl(text, orSpace: true),
      let first = bytes.dropFirst(scheme.utf8.count + 3).first,
      !"/?#:".utf8.contains(first)
    else {
      throw InvalidInput(
        path: path,
        message: "must be empty, or a URL with a host and one of \(schemes.joined(separator: ", "))")
    }
    return text
  }
}
