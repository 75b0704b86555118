import JSONText

/// How fast bodies are sent: all of them together, and those of single keys (D53).
package struct Bandwidth: Sendable, Equatable {
  /// Bytes a second; nil is no limit.
  package var total: Int64?
  /// The same by key.
  package var keys: [EntryKey: Int64] = [:]

  package init() {}

  /// Reads `{total?, keys?: {KEY: BYTES}}`.
  init(reading json: JSON, path: String) throws(InvalidInput) {
    let object = try ObjectReader(json, path: path, names: ["total", "keys"])
    total = try object.integer("total", in: 1...Bounds.integer)
    guard let json = object["keys"] else { return }
    let keysPath = object.path(of: "keys")
    guard json.kind == .object else {
      throw InvalidInput(path: keysPath, message: "must be an object with a member for each key")
    }
    for (name, rate) in json.members() {
      let path = JSONPath.member(name, of: keysPath)
      guard (1...Bounds.name).contains(name.utf8.count) else {
        throw InvalidInput(path: path, message: "must be named by a key of 1 to \(Bounds.name) bytes")
      }
      guard keys[EntryKey(name)] == nil else {
        throw InvalidInput(path: path, message: "must be given once")
      }
      keys[EntryKey(name)] = try rate.integer(at: path, in: 1...Bounds.integer)
    }
    guard keys.count <= Bounds.limitedKeys else {
      throw InvalidInput(path: keysPath, message: "must have at most \(Bounds.limitedKeys) members")
    }
  }

  func write(into writer: inout JSONWriter) {
    writer.object { object in
      if let total { object.member("total", total) }
      object.member("keys") { list in
        list.object { list in
          for (key, rate) in keys.sorted(by: { $0.key.text < $1.key.text }) { list.member(key.text, rate) }
        }
      }
    }
  }
}
