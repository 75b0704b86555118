/// The head of an HTTP/1.1 request.
struct RequestHead: Equatable {
  let method: String
  /// The path of the target, without its query.
  let path: String
  /// Names in lower case, in order.
  let fields: [Field]
  /// Bytes of the body.
  let length: Int

  struct Field: Equatable {
    let name: String
    let value: String
  }

  /// A head that is not served: the status to answer with.
  struct Refused: Error, Equatable {
    let status: Int
  }

  /// Reads the lines before the blank one. Bodies come with their length only.
  init(_ bytes: ArraySlice<UInt8>, maxBody: Int) throws(Refused) {
    let lines = RequestHead.lines(of: bytes)
    let words = (lines.first ?? "").split(separator: " ", omittingEmptySubsequences: false)
    guard words.count == 3, words[2] == "HTTP/1.1", words[1].first == "/" else { throw Refused(status: 400) }
    method = String(words[0])
    path = String(words[1].prefix { $0 != "?" })
    var fields: [Field] = []
    for line in lines.dropFirst() {
      guard let colon = line.firstIndex(of: ":"), colon > line.startIndex, line.first != " " else {
        throw Refused(status: 400)
      }
      let value = line[line.index(after: colon)...].drop { $0 == " " || $0 == "\t" }
      fields.append(Field(name: line[..<colon].lowercased(), value: String(value)))
    }
    self.fields = fields
    guard !fields.contains(where: { $0.name == "transfer-encoding" }) else { throw Refused(status: 411) }
    let lengths = fields.filter { $0.name == "content-length" }.map(\.value)
    guard lengths.count <= 1 else { throw Refused(status: 400) }
    guard let text = lengths.first else {
      length = 0
      return
    }
    guard !text.isEmpty, text.allSatisfy({ $0.isASCII && $0.isNumber }) else { throw Refused(status: 400) }
    guard let length = Int(text), length <= maxBody else { throw Refused(status: 413) }
    self.length = length
  }

  func value(_ name: String) -> String? {
    fields.first { $0.name == name }?.value
  }

  /// As bytes: Swift takes CR LF for one character.
  private static func lines(of bytes: ArraySlice<UInt8>) -> [String] {
    bytes.split(separator: 0x0A, omittingEmptySubsequences: false).map { line in
      String(decoding: line.last == 0x0D ? line.dropLast() : line, as: UTF8.self)
    }
  }
}
