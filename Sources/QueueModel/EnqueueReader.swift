package import JSONText

extension Enqueue {
  /// Every name that one enqueue may have.
  static let names = [
    "id", "key", "vars", "request", "after", "onFailure", "bind", "lane", "group", "weight", "deadlineMs",
    "groupDeadlineMs",
  ]

  /// Reads what a host sent.
  ///
  /// - Parameters:
  ///   - path: Where it stands, from the params on; empty is the params themselves.
  ///   - makeID: Names one that has no id.
  /// - Throws: The first thing that is wrong, by its path from the params on.
  package init(reading json: JSON, path: String = "", makeID: () -> EntryID) throws(InvalidInput) {
    let object = try ObjectReader(json, path: path, names: Self.names)
    let id = try object["id"].map { (json) throws(InvalidInput) in
      try EntryID(reading: json, path: object.path(of: "id"))
    }
    let key = try EntryKey(reading: object.required("key"), path: object.path(of: "key"))
    let vars = object["vars"] ?? .null
    guard [.object, .array, .null].contains(vars.kind) else {
      throw InvalidInput(path: object.path(of: "vars"), message: "must be an object, an array or null")
    }
    guard vars.count <= Bounds.vars else {
      throw InvalidInput(
        path: object.path(of: "vars"), message: "has \(vars.count) bytes, at most \(Bounds.vars) are kept")
    }
    let request = try Descriptor(reading: object.required("request"), path: object.path(of: "request"))
    self.init(id: id ?? makeID(), key: key, vars: vars, request: request)
    try readGroup(object)
    dependencies = try Dependencies(
      after: object["after"], onFailure: object["onFailure"], bind: object["bind"], path: path)
    try dependencies.check(own: self.id, path: path)
    try dependencies.check(request, path: object.path(of: "request"))
    lane = try object["lane"].map { (json) throws(InvalidInput) in
      try Lane(reading: json, path: object.path(of: "lane"))
    }
  }

  /// Reads requests that are accepted together (D50): at least one, no id twice.
  package static func all(reading json: JSON, path: String, makeID: () -> EntryID) throws(InvalidInput)
    -> [Enqueue]
  {
    let elements = try json.array(at: path)
    guard (1...Bounds.enqueuesTogether).contains(elements.count) else {
      throw InvalidInput(path: path, message: "must have 1 to \(Bounds.enqueuesTogether) entries")
    }
    var enqueues: [Enqueue] = []
    var places: [EntryID: String] = [:]
    var predecessors = 0
    for (path, element) in elements {
      let enqueue = try Enqueue(reading: element, path: path, makeID: makeID)
      if let other = places.updateValue(path, forKey: enqueue.id) {
        throw InvalidInput(path: JSONPath.member("id", of: path), message: "is the id of \(other) as well")
      }
      predecessors += enqueue.dependencies.predecessors.count
      guard predecessors <= Bounds.predecessorsTogether else {
        throw InvalidInput(
          path: path,
          message: "is one too many to wait for others; \(Bounds.predecessorsTogether) ids may be named")
      }
      enqueues.append(enqueue)
    }
    return enqueues
  }
}
