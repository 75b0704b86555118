package import JSONText

/// The entries that an entry waits for, and what it takes from their answers (D45, D46).
package struct Dependencies: Sendable {
  /// Who has to be completed, in the order of the call; each once, those of bindings included.
  package var predecessors: [Predecessor] = []
  package var onFailure = OnFailure.wait
  package var bindings: [Binding] = []

  package struct Predecessor: Sendable {
    package var id: EntryID
    /// Where the entry names it first.
    package var path: String
  }

  /// What the end of a predecessor with an error, or by cancel, means for the entry.
  package enum OnFailure: String, Sendable, CaseIterable {
    /// It goes on waiting: the predecessor can be reopened.
    case wait
    /// It settles with `dependency`.
    case settle
  }

  package init() {}

  /// Those of an entry that there is.
  package init(after ids: [EntryID], onFailure: OnFailure, bindings: [Binding]) {
    predecessors = ids.map { Predecessor(id: $0, path: "after") }
    self.onFailure = onFailure
    self.bindings = bindings
  }

  /// Reads the members `after`, `onFailure` and `bind` of an enqueue.
  ///
  /// - Parameter path: Of the object that has them; empty for params.
  package init(after: JSON?, onFailure: JSON?, bind: JSON?, path: String = "") throws(InvalidInput) {
    if let after { try read(after: after, at: JSONPath.member("after", of: path)) }
    if let onFailure {
      let choice = OnFailure.allCases.first { onFailure.string?.hasSameBytes(as: $0.rawValue) == true }
      guard let choice else {
        throw InvalidInput(
          path: JSONPath.member("onFailure", of: path), message: "must be one of wait, settle")
      }
      self.onFailure = choice
    }
    if let bind { try read(bind: bind, at: JSONPath.member("bind", of: path)) }
  }

  /// Refuses an entry that waits for itself.
  ///
  /// - Parameter path: Of the object that was read.
  package func check(own id: EntryID, path: String = "") throws(InvalidInput) {
    guard let itself = predecessors.first(where: { $0.id == id }) else { return }
    throw InvalidInput(
      path: path.isEmpty ? itself.path : "\(path).\(itself.path)", message: "must not name the entry itself")
  }

  private mutating func read(after json: JSON, at path: String) throws(InvalidInput) {
    let elements = try json.array(at: path)
    guard elements.count <= Bounds.predecessors else {
      throw InvalidInput(path: path, message: "must have at most \(Bounds.predecessors) ids")
    }
    var seen: Set<EntryID> = []
    for (index, (path, element)) in elements.enumerated() {
      let id = try EntryID(reading: element, path: path)
      guard seen.insert(id).inserted else { continue }
      predecessors.append(Predecessor(id: id, path: JSONPath.element(index, of: "after")))
    }
  }

  private mutating func read(bind json: JSON, at path: String) throws(InvalidInput) {
    guard json.kind == .object else { throw InvalidInput(path: path, message: "must be an object") }
    for (name, value) in json.members() {
      let binding = try Binding(name, reading: value, path: JSONPath.member(name, of: path))
      guard !bindings.contains(where: { $0.name.hasSameBytes(as: name) }) else {
        throw InvalidInput(path: JSONPath.member(name, of: path), message: "must be given once")
      }
      bindings.append(binding)
      guard bindings.count <= Bounds.bindings else {
        throw InvalidInput(path: path, message: "must have at most \(Bounds.bindings) names")
      }
      if !predecessors.contains(where: { $0.id == binding.entry }) {
        predecessors.append(Predecessor(id: binding.entry, path: "bind.\(name).entry"))
      }
    }
  }
}

/// A value under a name, taken from the answer of a predecessor when that completes (D46).
package struct Binding: Sendable {
  /// Letters, digits and `_`, not beginning with a digit.
  package var name: String
  package var entry: EntryID
  package var source: Source

  package enum Source: Sendable {
    /// In the answer's body, which has to be JSON.
    case pointer(JSONPointer)
    /// The value of this header of the answer.
    case header(String)
  }

  package init(name: String, entry: EntryID, source: Source) {
    self.name = name
    self.entry = entry
    self.source = source
  }

  fileprivate init(_ name: String, reading json: JSON, path: String) throws(InvalidInput) {
    guard Binding.isName(name) else {
      throw InvalidInput(
        path: path, message: "must be a name of letters, digits and _ that begins with no digit")
    }
    let object = try ObjectReader(json, path: path, names: ["entry", "pointer", "header"])
    self.name = name
    entry = try EntryID(reading: object.required("entry"), path: object.path(of: "entry"))
    switch (try object.string("pointer"), try object.string("header")) {
    case (let text?, nil):
      guard let pointer = JSONPointer(text) else {
        throw InvalidInput(
          path: object.path(of: "pointer"),
          message: "must be empty or begin with /, and write ~ as ~0 (RFC 6901)")
      }
      source = .pointer(pointer)
    case (nil, let header?):
      guard !header.isEmpty, header.utf8.allSatisfy(HTTPText.isToken) else {
        throw InvalidInput(path: object.path(of: "header"), message: "must be a header name")
      }
      source = .header(header)
    case (nil, nil), (.some, .some):
      throw InvalidInput(path: path, message: "must have either pointer or header")
    }
  }

  static func isName(_ text: some StringProtocol) -> Bool {
    guard let first = text.utf8.first, !HTTPText.isDigit(first) else { return false }
    return text.utf8.allSatisfy { HTTPText.isLetter($0) || HTTPText.isDigit($0) || $0 == UInt8(ascii: "_") }
  }

  /// Whether it takes the same value of the same entry.
  package func isSame(as other: Binding) -> Bool {
    guard entry == other.entry else { return false }
    switch (source, other.source) {
    case (.pointer(let left), .pointer(let right)): return left.text.hasSameBytes(as: right.text)
    case (.header(let left), .header(let right)): return HeaderFields.sameName(left, right)
    case (.pointer, .header), (.header, .pointer): return false
    }
  }
}
