package import JSONText

/// One request of an entry that sends its file in parts.
package struct PartRequest: Sendable, Equatable {
  package let url: RequestURL
  /// Go over those of the entry.
  package let headers: HeaderFields
  /// Bytes of the file.
  package let range: Range<Int64>

  package init(url: RequestURL, headers: HeaderFields, range: Range<Int64>) {
    self.url = url
    self.headers = headers
    self.range = range
  }

  fileprivate init(reading json: JSON, path: String) throws(InvalidInput) {
    let part = try ObjectReader(json, path: path, names: ["url", "headers", "range"])
    let urlPath = part.path(of: "url")
    url = try RequestURL(reading: part.required("url").nonEmptyString(at: urlPath), path: urlPath)
    headers =
      if let json = part["headers"] {
        try HeaderFields(reading: json, path: part.path(of: "headers"))
      } else {
        HeaderFields()
      }
    let range = try ObjectReader(
      part.required("range"), path: part.path(of: "range"), names: ["start", "end"])
    let start = try range.requiredInteger("start", in: 0...Bounds.integer)
    self.range = start..<(try range.requiredInteger("end", in: start...Bounds.integer))
  }

  /// Whether it sends the same bytes to the same place (D5).
  package func isSame(as other: PartRequest) -> Bool { url == other.url && range == other.range }
}

extension [PartRequest] {
  /// Reads `[{url, headers?, range: {start, end}}]`: at least one part, tiling the file from 0 without gap or
  /// overlap (B50). Only a file of no bytes has an empty range, the one {0, 0} (D9).
  package init(reading json: JSON, path: String) throws(InvalidInput) {
    self = []
    var end: Int64 = 0
    for (path, value) in try json.array(at: path) {
      guard count < Bounds.ranges else {
        throw InvalidInput(path: path, message: "is one too many; there may be \(Bounds.ranges)")
      }
      let part = try PartRequest(reading: value, path: path)
      guard part.range.lowerBound == end else {
        throw InvalidInput(
          path: "\(path).range.start", message: "must be \(end), so that the parts tile the file")
      }
      guard !part.range.isEmpty || count == 0 else {
        throw InvalidInput(path: "\(path).range.end", message: "must be greater than start")
      }
      end = part.range.upperBound
      append(part)
    }
    guard let first else { throw InvalidInput(path: path, message: "must have at least one part") }
    guard !first.range.isEmpty || count == 1 else {
      throw InvalidInput(path: "\(path)[0].range.end", message: "must be greater than start")
    }
  }

  /// What is wrong with the parts for a file of `size` bytes; nil when they tile it to its end. Names the
  /// first part that leaves the file, or else the last one.
  package func misfit(size: Int64) -> InvalidInput? {
    guard let last, last.range.upperBound != size else { return nil }
    let index = firstIndex { $0.range.upperBound > size } ?? count - 1
    return InvalidInput(
      path: "request.parts[\(index)].range.end",
      message: "must let the parts end where the file does, at \(size) bytes")
  }
}
