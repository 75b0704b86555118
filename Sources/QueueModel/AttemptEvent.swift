package import JSONText

/// One HTTP attempt and what came of it, told live (protocol.md section 3).
package struct AttemptEvent: Sendable {
  package var id: EntryID
  package var key: EntryKey
  package var requestID: String
  /// Which attempt of the generation, from 1.
  package var attempt: Int64
  package var url: String
  package var method: HTTPMethod
  package var partIndex: Int?
  package var result: Result
  /// nil after a transport failure.
  package var answer: Answer?
  /// Wall clock, ms.
  package var at: Int64

  package enum Result: Sendable, Equatable {
    /// 2xx, or an accept rule (B174).
    case completed
    case error(ErrorKind, message: String)
  }

  /// - Parameter answer: What the server said; left out unless the event is about a status.
  init(
    of entry: Entry, _ attempt: AttemptID, url: RequestURL?, requestID: String, result: Result,
    answer: Answer?, at: Int64
  ) {
    id = entry.id
    key = entry.key
    self.requestID = requestID
    self.attempt = attempt.ordinal
    self.url = url?.text ?? ""
    method = entry.request.method
    partIndex = attempt.part
    self.result = result
    switch result {
    case .completed, .error(.http, _): self.answer = answer
    case .error: self.answer = nil
    }
    self.at = at
  }

  /// Absent values are left out. The body is cut to 4096 bytes at a character (B173, A-RESP-09).
  package func write(into writer: inout JSONWriter) {
    writer.object { event in
      event.member("id", id.text)
      event.member("key", key.text)
      event.member("requestId", requestID)
      event.member("attempt", attempt)
      event.member("url", url)
      event.member("method", method.rawValue)
      if let partIndex { event.member("partIndex", partIndex) }
      switch result {
      case .completed: event.member("outcome", "completed")
      case .error: event.member("outcome", "error")
      }
      if let answer { Self.write(answer, into: &event) }
      if case .error(let kind, let message) = result {
        event.member("errorKind", kind.rawValue)
        event.member("errorMessage", message)
      }
      event.member("at", at)
    }
  }

  private static func write(_ answer: Answer, into event: inout JSONWriter) {
    event.member("httpCode", answer.status)
    let (body, isTruncated) = ResponseRecord.Body.beginning(of: answer, limit: Bounds.attemptBody)
    switch body {
    case nil: break
    case .text(let text): event.member("responseBody", text)
    case .bytes(let bytes): event.member("responseBodyBase64", Base64.encoded(bytes))
    }
    if body != nil || isTruncated { event.member("responseBodyTruncated", isTruncated) }
    if !answer.headers.isEmpty {
      event.member("responseHeaders") { ResponseRecord.write(answer.headers, into: &$0) }
    }
  }
}
