import JSONText

/// The answer as an outcome carries it (D31).
package struct ResponseRecord: Sendable {
  /// nil for an entry in parts, whose parts each had an answer.
  package var status: Int?
  package var headers: [(name: String, value: String)]
  /// nil when the answer had none.
  package var body: Body?
  /// The body is not all of what the server sent (D12, D31).
  package var bodyTruncated: Bool

  package enum Body: Sendable, Equatable {
    case text(String)
    /// Bytes that are no UTF-8.
    case bytes([UInt8])
  }

  package init(
    status: Int?, headers: [(name: String, value: String)] = [], body: Body? = nil,
    bodyTruncated: Bool = false
  ) {
    self.status = status
    self.headers = headers
    self.body = body
    self.bodyTruncated = bodyTruncated
  }

  /// All that is kept of the answer.
  package init(_ answer: Answer) {
    let isWhole = answer.completeness == .whole
    self.init(
      status: answer.status, headers: answer.headers,
      body: Body(answer.body, isWhole: isWhole), bodyTruncated: !isWhole)
  }
}

extension ResponseRecord.Body {
  /// nil for no bytes. A text that was cut in the middle of a character loses the rest of it.
  init?(_ bytes: [UInt8], isWhole: Bool) {
    guard !bytes.isEmpty else { return nil }
    let complete = isWhole ? bytes[...] : bytes.dropLast(Self.incompleteTail(of: bytes))
    if let text = String(validating: complete, as: UTF8.self) {
      self = .text(text)
    } else {
      self = .bytes(bytes)
    }
  }

  /// The first bytes of a body, and whether they are all of it.
  static func beginning(of answer: Answer, limit: Int) -> (body: Self?, isTruncated: Bool) {
    let isWhole = answer.completeness == .whole && answer.body.count <= limit
    return (Self(Array(answer.body.prefix(limit)), isWhole: isWhole), !isWhole)
  }

  /// How many bytes at the end begin a character that is not all there, 0 to 3.
  private static func incompleteTail(of bytes: [UInt8]) -> Int {
    for back in 1...min(3, bytes.count) {
      switch bytes[bytes.count - back] {
      case 0x80...0xBF: continue
      case 0xC0...0xDF: return back < 2 ? back : 0
      case 0xE0...0xEF: return back < 3 ? back : 0
      case 0xF0...0xF7: return back
      default: return 0
      }
    }
    return 0
  }
}

extension ResponseRecord {
  /// Writes `{status?, headers?, body? | bodyBase64?, bodyTruncated}`.
  func write(into writer: inout JSONWriter) {
    writer.object { response in
      if let status { response.member("status", status) }
      if !headers.isEmpty { response.member("headers") { Self.write(headers, into: &$0) } }
      switch body {
      case nil: break
      case .text(let text): response.member("body", text)
      case .bytes(let bytes): response.member("bodyBase64", Base64.encoded(bytes))
      }
      response.member("bodyTruncated", bodyTruncated)
    }
  }

  static func write(_ headers: [(name: String, value: String)], into writer: inout JSONWriter) {
    writer.object { for (name, value) in headers { $0.member(name, value) } }
  }

  /// Reads back what `write` wrote.
  init(stored json: JSON) {
    let headers = json["headers"]?.members().compactMap { name, value in value.string.map { (name, $0) } }
    var body = json["body"]?.string.map { Body.text($0) }
    if let bytes = json["bodyBase64"]?.string.flatMap(Base64.decoded) { body = .bytes(bytes) }
    self.init(
      status: json["status"]?.integer.map { Int($0) }, headers: headers ?? [], body: body,
      bodyTruncated: json["bodyTruncated"]?.bool ?? false)
  }
}
