/// The fields of a multipart/form-data body (RFC 7578), as far as a form of ours has them.
struct MultipartBody {
  private let body: [UInt8]
  private let boundary: [UInt8]

  /// nil when the request's Content-Type names no boundary, or its body was not kept.
  init?(_ request: Received) {
    guard let type = request.head.value("content-type"), type.hasPrefix("multipart/form-data;"),
      let body = request.body
    else { return nil }
    let words = Array(type.utf8)
    guard let at = words[...].offset(of: Array("boundary=".utf8)) else { return nil }
    self.body = body
    boundary = Array("--".utf8) + words.dropFirst(at + "boundary=".utf8.count)
  }

  /// The content of the first field of this name.
  func field(_ name: String) -> [UInt8]? {
    let mark = Array("name=\"\(name)\"".utf8)
    let blank = Array("\r\n\r\n".utf8)
    for part in parts() {
      guard let end = part.offset(of: blank), part.prefix(end).offset(of: mark) != nil else { continue }
      return Array(part.dropFirst(end + blank.count))
    }
    return nil
  }

  /// What stands between two boundaries, without the line ends that belong to them.
  private func parts() -> [ArraySlice<UInt8>] {
    guard body.starts(with: boundary) else { return [] }
    var parts: [ArraySlice<UInt8>] = []
    var rest = body.dropFirst(boundary.count)
    let end = Array("\r\n".utf8) + boundary
    while let next = rest.offset(of: end) {
      parts.append(rest.prefix(next))
      rest = rest.dropFirst(next + end.count)
    }
    return parts
  }
}

extension ArraySlice<UInt8> {
  /// How many bytes stand before the first place where `bytes` stand; nil where there is none.
  func offset(of bytes: [UInt8]) -> Int? {
    indices.first { self[$0] == bytes[0] && self[$0...].starts(with: bytes) }.map { $0 - startIndex }
  }
}
