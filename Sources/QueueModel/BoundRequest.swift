package import JSONText

/// Where the names of `bind` stand in a request, and the request with the values in their place (D46).
extension Dependencies {
  private var names: Set<String> { Set(bindings.map(\.name)) }

  /// Refuses places for values that no binding gives. A request without bindings is plain text.
  package func check(_ request: Descriptor, path: String = "request") throws(InvalidInput) {
    guard !bindings.isEmpty else {
      guard !request.boundOrigin else {
        throw InvalidInput(path: "\(path).boundOrigin", message: "goes with bind, which names the url")
      }
      return
    }
    if let url = request.url { try check(url, path: "\(path).url") }
    try check(request.headers, path: "\(path).headers")
    switch request.body {
    case .none, .form, .file: break
    case .data(let data): try check(data, path: "\(path).data")
    case .parts(_, let parts):
      for (index, part) in parts.enumerated() {
        try check(part.url, path: "\(path).parts[\(index)].url")
        try check(part.headers, path: "\(path).parts[\(index)].headers")
      }
    }
  }

  private func check(_ url: RequestURL, path: String) throws(InvalidInput) {
    _ = try Template(url.text, isStrict: true, bound: names, path: path)
  }

  private func check(_ headers: HeaderFields, path: String) throws(InvalidInput) {
    for field in headers.fields {
      _ = try Template(
        field.value, isStrict: false, bound: names, path: JSONPath.member(field.name, of: path))
    }
  }

  private func check(_ data: JSON, path: String) throws(InvalidInput) {
    let slots = data.slots(markedBy: DataSlot.mark)
    guard slots.isEmpty || data.count <= Bounds.dataTemplate else {
      throw InvalidInput(
        path: path, message: "has \(data.count) bytes; at most \(Bounds.dataTemplate) with \(DataSlot.mark)")
    }
    for slot in slots {
      var members = slot.object.members()
      let first = members.next()
      guard members.next() == nil, let name = first?.value.string else {
        throw InvalidInput(
          path: path + data.shownPath(of: slot), message: "must have \(DataSlot.mark) alone, with a name")
      }
      guard names.contains(name) else {
        throw InvalidInput(
          path: path + data.shownPath(of: slot), message: "names \(name), which bind does not")
      }
    }
  }
}

extension JSON {
  fileprivate func shownPath(of slot: Slot) -> String {
    let path = path(of: slot)
    return path.isEmpty || path.hasPrefix("[") ? path : ".\(path)"
  }
}

/// `{"$bind": name}` inside `data`.
enum DataSlot {
  static let mark = "$bind"
}

extension Descriptor {
  /// The URL and the headers with the values in them.
  package func expanded(with values: BoundValues) throws(BindingFailure) -> Descriptor {
    let headers = try headers.expanded(with: values)
    guard let url else { return with(url: nil, headers: headers) }
    guard !boundOrigin else {
      return with(url: try url.template.wholeURL(values), headers: headers)
    }
    return with(url: try url.expanded(with: values), headers: headers)
  }

  /// The bytes that `data` becomes; nil for one that holds no place for a value, which is sent as it is.
  ///
  /// - Parameter data: As it was enqueued.
  package static func expanded(_ data: JSON, with values: BoundValues) throws(BindingFailure) -> [UInt8]? {
    let slots = data.slots(markedBy: DataSlot.mark)
    guard !slots.isEmpty else { return nil }
    var all: [JSON] = []
    var length = data.count
    for slot in slots {
      let name = slot.object[DataSlot.mark]?.string ?? ""
      let value = try values.json(name)
      length += value.count - slot.object.count
      guard length <= Bounds.expandedData else {
        throw values.failure(name, "makes data of more than \(Bounds.expandedData) bytes")
      }
      all.append(value)
    }
    return data.filling(slots, with: all)
  }
}

extension PartRequest {
  /// The same part with the values in its URL and headers.
  package func expanded(with values: BoundValues) throws(BindingFailure) -> PartRequest {
    PartRequest(
      url: try url.expanded(with: values), headers: try headers.expanded(with: values), range: range)
  }
}

extension RequestURL {
  /// Checked at the enqueue, so every name is bound; what a value would need says the expansion.
  fileprivate var template: Template { Template(accepted: text) }

  fileprivate func expanded(with values: BoundValues) throws(BindingFailure) -> RequestURL {
    let template = template
    return template.namesValues ? try template.url(values, of: self) : self
  }
}

extension HeaderFields {
  fileprivate func expanded(with values: BoundValues) throws(BindingFailure) -> HeaderFields {
    var headers = HeaderFields()
    var bytes = 0
    var last: String?
    for field in fields {
      let template = Template(accepted: field.value)
      let value = try template.headerValue(values)
      headers.set(field.name, value)
      bytes += field.name.utf8.count + value.utf8.count + 4
      last = template.firstName ?? last
    }
    guard let last, bytes > Bounds.requestHead else { return headers }
    throw values.failure(last, "makes headers of more than \(Bounds.requestHead) bytes")
  }
}

/// What of a request can hold names and lies beside the descriptor.
package struct BodyTemplate: Sendable {
  /// Of an entry that was enqueued with `data`.
  package var data: JSON?
  /// The requests of an entry in parts.
  package var parts: [PartRequest]

  package init(data: JSON? = nil, parts: [PartRequest] = []) {
    self.data = data
    self.parts = parts
  }

  /// - Parameter stored: `data` as it was enqueued before, the same but for spacing (D5).
  package init(_ body: BodyDescription, stored: JSON?) {
    switch body {
    case .data(let data): self.init(data: stored ?? data)
    case .parts(_, let parts): self.init(parts: parts)
    case .none, .form, .file: self.init()
    }
  }
}

extension Entry {
  /// What the request has become with the values in it; all of it has to work out.
  package func expansion(
    of template: BodyTemplate, with values: BoundValues
  ) throws(BindingFailure) -> Expansion {
    let expanded = try request.expanded(with: values)
    for part in template.parts { _ = try part.expanded(with: values) }
    var length = body.length
    if let data = template.data, let bytes = try Descriptor.expanded(data, with: values) {
      length = Int64(bytes.count)
    }
    return Expansion(url: expanded.url, length: length)
  }

  /// The same entry with the values in its request, as it is sent; its body is not part of that.
  package func sending(_ values: BoundValues) throws(BindingFailure) -> Entry {
    var entry = self
    entry.request = try request.expanded(with: values)
    return entry
  }
}
