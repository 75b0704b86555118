import QueueModel

/// What one request has got back so far: heads, of which only a complete final one counts, and the decoded
/// body.
struct AnswerBuffer {
  /// Bytes of body that are kept (D31).
  static let keptBody = 1 << 20
  /// Decoded bytes after which a transfer is ended, so that a small packed answer cannot keep a slot busy
  /// (D12).
  static let decodedBody = 64 << 20
  /// Bytes of all heads of one request; under libcurl's own limit, so that the answer is not taken for a
  /// broken one.
  static let heads = 256 << 10

  /// Of the last final status line seen, even if its head never ended; nil before one came.
  private(set) var finalStatus: Int?
  /// The head of `finalStatus` has ended.
  private(set) var hasFinalHead = false
  /// `heads` or `decodedBody` was exceeded.
  private(set) var exceedsLimit = false
  /// Bytes of heads, interim ones too.
  private(set) var headBytes: Int64 = 0
  private(set) var decodedBytes = 0
  private(set) var body: [UInt8] = []
  /// `takeRest` found the end of the answer.
  private(set) var isWhole = false
  private var fields = AnswerFields()

  /// Takes one line of a head, with its line end. False ends the transfer.
  mutating func takeHeadLine(_ line: UnsafeRawBufferPointer) -> Bool {
    headBytes += Int64(line.count)
    guard headBytes <= AnswerBuffer.heads else {
      exceedsLimit = true
      return false
    }
    // After the final head come trailers, which are no part of the answer (RFC 9110, section 6.5.1).
    if hasFinalHead { return true }
    if let status = AnswerBuffer.status(of: line) {
      fields = AnswerFields()
      finalStatus = status >= 200 ? status : nil
    } else if finalStatus != nil {
      if line.allSatisfy({ $0 == 0x0D || $0 == 0x0A }) {
        hasFinalHead = true
      } else {
        fields.take(line)
      }
    }
    return true
  }

  /// Takes decoded bytes of the body; what is behind the cap is counted and dropped. False ends the transfer.
  mutating func takeBody(_ bytes: UnsafeRawBufferPointer) -> Bool {
    decodedBytes += bytes.count
    let room = AnswerBuffer.keptBody - body.count
    if room > 0 { body.append(contentsOf: bytes.prefix(room)) }
    guard decodedBytes <= AnswerBuffer.decodedBody else {
      exceedsLimit = true
      return false
    }
    return true
  }

  /// Takes what was left of a plain HTTP/1 answer in a socket of which nothing had been read.
  mutating func takeRest(_ bytes: [UInt8]) {
    guard headBytes == 0, bytes.starts(with: "HTTP/1.".utf8) else { return }
    bytes.withUnsafeBytes { bytes in
      var rest = bytes[...]
      while !hasFinalHead, let end = rest.firstIndex(of: 0x0A) {
        guard takeHeadLine(UnsafeRawBufferPointer(rebasing: rest[...end])) else { return }
        rest = rest[(end + 1)...]
      }
      // A body in another framing or coding is left out; the status is what counts.
      guard hasFinalHead, header("transfer-encoding") == nil, header("content-encoding") == nil,
        let length = header("content-length").flatMap({ Int($0) }), length >= 0
      else { return }
      isWhole = rest.count >= length && takeBody(UnsafeRawBufferPointer(rebasing: rest.prefix(length)))
    }
  }

  /// The value of a field of the final head; the name in lower case.
  func header(_ name: String) -> String? {
    hasFinalHead ? fields[name] : nil
  }

  /// The answer as the port wants it: nil without a final status.
  func answer(_ completeness: Answer.Completeness) -> Answer? {
    guard let finalStatus else { return nil }
    return Answer(status: finalStatus, headers: fields.pairs, body: body, completeness: completeness)
  }

  /// The status of a status line (RFC 9112, section 4); nil for any other line.
  private static func status(of line: UnsafeRawBufferPointer) -> Int? {
    guard line.starts(with: "HTTP/".utf8), let space = line.firstIndex(of: 0x20) else { return nil }
    let digits = line[space...].drop { $0 == 0x20 }.prefix { (0x30...0x39).contains($0) }
    guard digits.count == 3 else { return nil }
    return digits.reduce(0) { $0 * 10 + Int($1 - 0x30) }
  }
}
