import JSONText

/// Reads a descriptor member by member.
struct DescriptorReader {
  let object: ObjectReader

  init(_ json: JSON, path: String, names: [String]) throws(InvalidInput) {
    let all = try ObjectReader(json, path: path, names: names)
    object = all.droppingNulls(except: ["data", "wifiOnly"])
  }

  func method() throws(InvalidInput) -> HTTPMethod { try object.choice("method") ?? .post }

  func url(isRequired: Bool) throws(InvalidInput) -> RequestURL? {
    if !isRequired && object["url"] == nil { return nil }
    let path = object.path(of: "url")
    let text = try object.required("url").nonEmptyString(at: path)
    guard try object.bool("boundOrigin") == true else { return try RequestURL(reading: text, path: path) }
    guard let url = RequestURL(template: text) else {
      throw InvalidInput(path: path, message: "must be {name} as a whole when boundOrigin is true")
    }
    return url
  }

  func boundOrigin(of kind: BodyKind) throws(InvalidInput) -> Bool {
    guard try object.bool("boundOrigin") == true else { return false }
    guard kind != .parts else {
      throw InvalidInput(
        path: object.path(of: "boundOrigin"), message: "goes with url; the urls of parts have their origin")
    }
    return true
  }

  func headers() throws(InvalidInput) -> HeaderFields {
    guard let json = object["headers"] else { return HeaderFields() }
    return try HeaderFields(reading: json, path: object.path(of: "headers"))
  }

  func body(of method: HTTPMethod) throws(InvalidInput) -> BodyDescription {
    let given = ["data", "form", "file"].filter { object[$0] != nil }
    guard given.count <= 1 else {
      throw InvalidInput(
        path: object.path, message: "must have at most one body, and has \(given.joined(separator: " and "))")
    }
    guard object["parts"] == nil || given == ["file"] else {
      throw InvalidInput(path: object.path(of: "parts"), message: "goes with file, which it cuts")
    }
    guard let kind = given.first, let json = object[kind] else { return .none }
    let path = object.path(of: kind)
    guard method != .get else { throw InvalidInput(path: path, message: "must be left out of a GET") }
    switch kind {
    case "data": return .data(json)
    case "form": return .form(try form(json, path: path))
    default:
      let file = try FilePath(reading: json.nonEmptyString(at: path), path: path)
      guard let parts = object["parts"] else { return .file(file) }
      return .parts(file, try [PartRequest](reading: parts, path: object.path(of: "parts")))
    }
  }

  private func form(_ json: JSON, path: String) throws(InvalidInput) -> [FormField] {
    var fields: [FormField] = []
    for (fieldPath, field) in try json.array(at: path) {
      fields.append(try FormField(reading: field, path: fieldPath))
    }
    guard !fields.isEmpty else { throw InvalidInput(path: path, message: "must have at least one field") }
    return fields
  }

  func accept() throws(InvalidInput) -> [AcceptRule] {
    guard let json = object["accept"] else { return [] }
    return try [AcceptRule](reading: json, path: object.path(of: "accept"))
  }

  func retry() throws(InvalidInput) -> RetryLayer? {
    guard let json = object["retry"] else { return nil }
    return try RetryLayer(reading: json, path: object.path(of: "retry"))
  }

  func timeouts() throws(InvalidInput) -> TimeoutLayer? {
    guard let json = object["timeouts"] else { return nil }
    return try TimeoutLayer(reading: json, path: object.path(of: "timeouts"))
  }

  func idempotencyKey() throws(InvalidInput) -> Descriptor.IdempotencyKey {
    guard let json = object["idempotencyKey"] else { return .automatic }
    if json.bool == false { return .off }
    let path = object.path(of: "idempotencyKey")
    guard let key = json.string, !key.isEmpty else {
      throw InvalidInput(path: path, message: "must be false or a non-empty string")
    }
    try HeaderRules.check(value: key, path: path)
    return .given(key)
  }

  func staging() throws(InvalidInput) -> Descriptor.Staging? {
    try object.choice("staging")
  }
}
