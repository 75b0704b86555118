package import JSONText

/// The body as the host described it.
package enum BodyDescription: Sendable {
  case none
  /// Sent exactly as it stood in the host's line.
  case data(JSON)
  case form([FormField])
  case file(FilePath)
  /// The file, sent by these requests. Read back from the store the list is empty: it lies there by itself.
  case parts(FilePath, [PartRequest])

  package var kind: BodyKind {
    switch self {
    case .none: .none
    case .data: .data
    case .form: .form
    case .file: .file
    case .parts: .parts
    }
  }

  /// The JSON path of the member that describes it.
  package var field: String {
    switch self {
    case .none: "request"
    case .data, .form, .file: "request.\(kind.rawValue)"
    case .parts: "request.file"
    }
  }

  /// Source files in the order of the descriptor.
  package var paths: [FilePath] {
    switch self {
    case .none, .data: []
    case .file(let path), .parts(let path, _): [path]
    case .form(let fields):
      fields.compactMap { field in
        switch field.content {
        case .string: nil
        case .path(let path, _): path
        }
      }
    }
  }

  /// Whether staging has to read a file.
  package var namesFiles: Bool { !paths.isEmpty }

  /// Whether its files are part of what it is: parts are the same whatever file they are cut from (D5).
  package var comparesFiles: Bool {
    switch self {
    case .none, .data, .parts: false
    case .form, .file: namesFiles
    }
  }

  /// Whether it describes the same body as `other`, which is stored (D5).
  ///
  /// - Parameters:
  ///   - storedData: The body of `other` when that is `data`; its description does not hold it.
  ///   - storedParts: Likewise, when it is in parts.
  func isSame(as other: BodyDescription, storedData: JSON?, storedParts: [PartRequest]?) -> Bool {
    switch (self, other) {
    case (.none, .none): true
    case (.data(let data), .data): storedData.map { data.isEquivalent(to: $0) } ?? false
    case (.file(let left), .file(let right)): left == right
    case (.form(let left), .form(let right)):
      left.count == right.count && zip(left, right).allSatisfy { $0.isSame(as: $1) }
    case (.parts(_, let parts), .parts):
      storedParts.map { $0.count == parts.count && zip($0, parts).allSatisfy { $0.isSame(as: $1) } } ?? false
    case (.none, _), (.data, _), (.file, _), (.form, _), (.parts, _): false
    }
  }
}

/// The kinds of body, by the descriptor's field that sets them.
package enum BodyKind: String, Sendable, CaseIterable {
  case none, data, form, file, parts
}
