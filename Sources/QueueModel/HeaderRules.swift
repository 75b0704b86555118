import JSONText

/// What a request header may be (D32, RFC 9110, section 5).
enum HeaderRules {
  private static let refused = [
    "Content-Length", "Transfer-Encoding", "Host", "Connection", "Expect", "TE", "Trailer", "Upgrade",
    "Keep-Alive",
  ]
  private static let refusedPrefix = "proxy-"

  /// - Parameter path: Of the object that holds the header.
  static func check(name: String, path: String) throws(InvalidInput) {
    let token = name.utf8.prefix(while: HTTPText.isToken)
    guard token.count == name.utf8.count, !name.isEmpty else {
      // Who puts a whole header line into a name put its value there too, so no more is shown than is a name.
      let begin = String(decoding: token, as: UTF8.self)
      throw InvalidInput(
        path: begin.isEmpty ? path : JSONPath.member(begin, of: path),
        message: "must be a header name, which is made of letters, digits and !#$%&'*+-.^_`|~")
    }
    let isOwned =
      refused.contains { HeaderFields.sameName($0, name) }
      || HTTPText.hasPrefix(name.utf8, refusedPrefix)
    guard !isOwned else {
      throw InvalidInput(
        path: JSONPath.member(name, of: path), message: "is set by the transport; leave it out")
    }
  }

  /// - Parameter path: Of the value itself.
  static func check(value: String, path: @autoclosure () -> String) throws(InvalidInput) {
    guard !HTTPText.hasControl(value, butTab: true) else {
      throw InvalidInput(path: path(), message: "must not hold a control character other than tab")
    }
  }
}
