import JSONText

/// One field of a `multipart/form-data` body (RFC 7578).
package struct FormField: Sendable {
  package var name: String
  package var contentType: String
  package var content: Content

  package enum Content: Sendable {
    case string(String)
    /// `fileName` nil takes the last component of the path.
    case path(FilePath, fileName: String?)
  }

  package init(name: String, contentType: String, content: Content) {
    self.name = name
    self.contentType = contentType
    self.content = content
  }

  init(reading json: JSON, path: String) throws(InvalidInput) {
    let field = try ObjectReader(
      json, path: path, names: ["name", "contentType", "string", "path", "fileName"])
    name = try field.required("name").nonEmptyString(at: field.path(of: "name"))
    contentType = try field.required("contentType").nonEmptyString(at: field.path(of: "contentType"))
    try HeaderRules.check(value: contentType, path: field.path(of: "contentType"))
    switch (try field.string("string"), try field.nonEmptyString("path")) {
    case (let string?, nil):
      guard field["fileName"] == nil else {
        throw InvalidInput(path: field.path(of: "fileName"), message: "goes with path, not with string")
      }
      content = .string(string)
    case (nil, let source?):
      content = .path(
        try FilePath(reading: source, path: field.path(of: "path")),
        fileName: try field.nonEmptyString("fileName"))
    case (nil, nil), (.some, .some):
      throw InvalidInput(path: path, message: "must have exactly one of string and path")
    }
  }

  func write(into writer: inout JSONWriter) {
    writer.object {
      $0.member("name", name)
      $0.member("contentType", contentType)
      switch content {
      case .string(let string): $0.member("string", string)
      case .path(let path, let fileName):
        $0.member("path", path.text)
        if let fileName { $0.member("fileName", fileName) }
      }
    }
  }

  /// Whether it describes the same field, paths as they were sent (D5).
  func isSame(as other: FormField) -> Bool {
    guard name.hasSameBytes(as: other.name), contentType.hasSameBytes(as: other.contentType) else {
      return false
    }
    switch (content, other.content) {
    case (.string(let left), .string(let right)): return left.hasSameBytes(as: right)
    case (.path(let left, let leftName), .path(let right, let rightName)):
      return left == right && leftName.hasSameBytes(as: rightName)
    case (.string, .path), (.path, .string): return false
    }
  }
}
