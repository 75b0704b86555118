/// Text with `{name}` in it, for the values of bindings: simple expansion of RFC 6570, of bound names alone
/// (D46).
struct Template {
  enum Piece {
    case text(String)
    case name(String)
  }

  private(set) var pieces: [Piece] = []

  /// Refuses names that are not bound.
  ///
  /// - Parameter isStrict: Refuses every other brace too. Otherwise one that holds no name, as in a header
  ///   that holds JSON, stays what it is.
  init(
    _ text: String, isStrict: Bool, bound: Set<String>, path: @autoclosure () -> String
  ) throws(InvalidInput) {
    self.init(accepted: text)
    for piece in pieces {
      switch piece {
      case .name(let name):
        guard bound.contains(name) else {
          throw InvalidInput(path: path(), message: "holds {\(name)}, which bind does not name")
        }
      case .text(let text):
        guard !isStrict || !text.contains(where: { $0 == "{" || $0 == "}" }) else {
          throw InvalidInput(
            path: path(), message: "must hold braces only around a name of bind; write others as %7B and %7D")
        }
      }
    }
  }

  /// Takes every name between braces for a bound one.
  init(accepted text: String) {
    // Scalars, since a brace with a combining mark behind it is another character.
    var rest = text.unicodeScalars[...]
    var plain = String.UnicodeScalarView()
    while let open = rest.firstIndex(where: { $0 == "{" || $0 == "}" }) {
      plain += rest[..<open]
      let inner = Template.inner(rest[open...])
      if let inner, Binding.isName(inner) {
        if !plain.isEmpty { pieces.append(.text(String(plain))) }
        plain = String.UnicodeScalarView()
        pieces.append(.name(String(inner)))
        rest = rest[inner.endIndex...].dropFirst()
        continue
      }
      plain.append(rest[open])
      rest = rest[open...].dropFirst()
    }
    plain += rest
    if !plain.isEmpty { pieces.append(.text(String(plain))) }
  }

  /// What stands between the brace at the beginning and the next closing one.
  private static func inner(_ text: Substring.UnicodeScalarView) -> Substring? {
    guard text.first == "{" else { return nil }
    let behind = text.dropFirst()
    let inner = behind.prefix { $0 != "}" }
    return inner.endIndex < behind.endIndex ? Substring(inner) : nil
  }

  var namesValues: Bool {
    pieces.contains { piece in
      switch piece {
      case .text: false
      case .name: true
      }
    }
  }

  /// The first name in it.
  var firstName: String? {
    for case .name(let name) in pieces { return name }
    return nil
  }
}

// MARK: URLs

extension Template {
  /// The URL with the values in it, everything but unreserved characters percent-encoded: a value stays
  /// within its segment of the path, its place in the query or in the fragment.
  func url(_ values: BoundValues, of template: RequestURL) throws(BindingFailure) -> RequestURL {
    var written = ""
    var segment = PathSegment()
    for piece in pieces {
      switch piece {
      case .text(let text):
        for character in text.unicodeScalars {
          written.unicodeScalars.append(character)
          if let bad = segment.take(character) { throw values.failure(bad, PathSegment.refusal) }
        }
      case .name(let name):
        let value = Template.percentEncoded(try values.text(name))
        written += value
        segment.fill(name, value)
      }
    }
    if let bad = segment.end() { throw values.failure(bad, PathSegment.refusal) }
    let name = firstName ?? ""
    let expanded: RequestURL
    do throws(InvalidInput) { expanded = try RequestURL(reading: written, path: "") } catch {
      throw values.failure(name, "makes a URL that \(error.message)")
    }
    guard expanded.origin == template.origin else {
      throw values.failure(name, "makes a URL of another origin")
    }
    return expanded
  }

  /// The URL that a value is, as a whole: only where the descriptor lets a value choose the origin.
  func wholeURL(_ values: BoundValues) throws(BindingFailure) -> RequestURL {
    let name = firstName ?? ""
    let text = try values.text(name)
    do throws(InvalidInput) { return try RequestURL(reading: text, path: "") } catch {
      throw values.failure(name, "\(error.message)")
    }
  }

  private static func percentEncoded(_ text: String) -> String {
    var bytes: [UInt8] = []
    for byte in text.utf8 {
      if HTTPText.isLetter(byte) || HTTPText.isDigit(byte) || "-._~".utf8.contains(byte) {
        bytes.append(byte)
      } else {
        HTTPText.appendEscape(byte, to: &bytes)
      }
    }
    return String(decoding: bytes, as: UTF8.self)
  }
}

/// The segment of a path that is being written. One that a value fills and that turns out empty, or to mean
/// this folder or the one above, would name another resource than the template does.
private struct PathSegment {
  private var text = ""
  /// The first name of it.
  private var name: String?
  /// Slashes so far: the first three begin the path.
  private var slashes = 0
  private var isBehindPath = false

  static let refusal = "makes a path segment that is empty, . or .."

  /// The name that is to blame, if this ends a segment that must not be.
  mutating func take(_ character: Unicode.Scalar) -> String? {
    guard !isBehindPath else { return nil }
    switch character {
    case "/":
      slashes += 1
      return slashes > 3 ? end() : begin()
    case "?", "#":
      let bad = slashes >= 3 ? end() : begin()
      isBehindPath = true
      return bad
    default:
      text.unicodeScalars.append(character)
      return nil
    }
  }

  mutating func fill(_ name: String, _ value: String) {
    guard !isBehindPath else { return }
    self.name = self.name ?? name
    text += value
  }

  mutating func end() -> String? {
    let bad = name
    let isBad = ["", ".", "%2e", "..", ".%2e", "%2e.", "%2e%2e"].contains(text.lowercased())
    _ = begin()
    return isBad ? bad : nil
  }

  private mutating func begin() -> String? {
    text = ""
    name = nil
    return nil
  }
}

// MARK: Headers

extension Template {
  /// The header value with the values in it, as they are.
  func headerValue(_ values: BoundValues) throws(BindingFailure) -> String {
    var written = ""
    for piece in pieces {
      switch piece {
      case .text(let text): written += text
      case .name(let name):
        let value = try values.text(name)
        guard !HTTPText.hasControl(value, butTab: true) else {
          throw values.failure(name, "holds a control character, which no header may")
        }
        written += value
      }
    }
    return written
  }
}
