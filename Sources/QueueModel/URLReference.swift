/// Reference resolution of RFC 3986, section 5.2, on text.
enum URLReference {
  /// The components of a reference, split as in RFC 3986, appendix B; the fragment is dropped.
  private struct Parts {
    var scheme: Substring?
    var authority: Substring?
    var path: Substring
    var query: Substring?

    init(_ text: Substring) {
      var rest = text.prefix { $0 != "#" }
      if let colon = rest.firstIndex(of: ":"), Parts.isScheme(rest[..<colon]) {
        scheme = rest[..<colon]
        rest = rest[rest.index(after: colon)...]
      }
      if let mark = rest.firstIndex(of: "?") {
        query = rest[rest.index(after: mark)...]
        rest = rest[..<mark]
      }
      if rest.hasPrefix("//") {
        rest = rest.dropFirst(2)
        let end = rest.firstIndex(of: "/") ?? rest.endIndex
        authority = rest[..<end]
        rest = rest[end...]
      }
      path = rest
    }

    private static func isScheme(_ text: Substring) -> Bool {
      guard let first = text.first, first.isASCII, first.isLetter else { return false }
      return text.allSatisfy { $0.isASCII && ($0.isLetter || $0.isNumber || "+-.".contains($0)) }
    }
  }

  /// `reference`, as it stands in a `Location` header, seen from the absolute URL `base`. Raw spaces are
  /// encoded, since servers send them; nothing else is checked.
  static func resolve(_ reference: String, against base: String) -> String {
    let base = Parts(base[...])
    var written = ""
    for scalar in reference.unicodeScalars {
      if scalar == " " { written += "%20" } else { written.unicodeScalars.append(scalar) }
    }
    var target = Parts(written[...])
    if target.scheme == nil {
      if target.authority == nil {
        if target.path.isEmpty {
          target.path = base.path
          target.query = target.query ?? base.query
        } else if !target.path.hasPrefix("/") {
          target.path = merge(base, target.path)
        }
        target.authority = base.authority
      }
      target.scheme = base.scheme
    }
    var text = (target.scheme.map { $0 + ":" } ?? "") + (target.authority.map { "//" + $0 } ?? "")
    text += removeDotSegments(target.path)
    if let query = target.query { text += "?" + query }
    return String(text)
  }

  private static func merge(_ base: Parts, _ path: Substring) -> Substring {
    if base.authority != nil && base.path.isEmpty { return "/" + path }
    guard let slash = base.path.lastIndex(of: "/") else { return path }
    return base.path[...slash] + path
  }

  /// RFC 3986, section 5.2.4, on whole segments.
  private static func removeDotSegments(_ path: Substring) -> Substring {
    guard path.hasPrefix("/") else { return path }
    var kept: [Substring] = []
    let segments = path.dropFirst().split(separator: "/", omittingEmptySubsequences: false)
    for (index, segment) in segments.enumerated() {
      let isLast = index == segments.count - 1
      switch segment {
      case ".": if isLast { kept.append("") }
      case "..":
        kept = kept.dropLast()
        if isLast { kept.append("") }
      default: kept.append(segment)
      }
    }
    return "/" + kept.joined(separator: "/")
  }
}
