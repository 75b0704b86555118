import CCurl
import QueueModel

/// One attempt: its exchanges, one for each hop of a redirect, and what was told of it.
final class Transfer {
  let transmission: Transmission
  let easy: EasyHandle
  private(set) var exchange: Exchange
  /// Redirects followed so far.
  private(set) var hops = 0
  /// Set once libcurl is done and only the send queue has to empty.
  var draining: Ending?

  private var earlierBytesReceived: Int64 = 0
  private var earlierBytesSent: Int64 = 0
  private var reported: Int64 = 0

  init(_ transmission: Transmission, easy: EasyHandle, exchange: Exchange) {
    self.transmission = transmission
    self.easy = easy
    self.exchange = exchange
  }

  /// Goes on with the next hop.
  func follow(with next: Exchange) {
    earlierBytesReceived += exchange.bytesReceived
    earlierBytesSent = bytesSent
    hops += 1
    exchange = next
  }

  /// Body bytes of the hop that sent most, so that a repeated body is not counted twice.
  var bytesSent: Int64 {
    max(earlierBytesSent, exchange.bytesSent)
  }

  var bytesReceived: Int64 {
    earlierBytesReceived + exchange.bytesReceived
  }

  /// The value of a progress report, if there is a new one. Asked for at the pace of `Exchange.nextLook`.
  func newProgress() -> Int64? {
    guard bytesSent > reported else { return nil }
    reported = bytesSent
    return bytesSent
  }

  /// How one exchange ended.
  enum Ending {
    case curl(CURLcode)
    case deadline(Deadlines.End)
  }

  /// What one exchange leads to.
  enum Next {
    case hop(Hop)
    case result(AttemptResult)
  }

  /// A further request of the same attempt.
  struct Hop {
    var url: RequestURL
    var method: HTTPMethod
    var headers: HeaderFields
    var withBody: Bool
  }

  /// Follows a redirect, if this answer is one (D20), else ends the attempt.
  func next(after ending: Ending) -> Next {
    var result = result(of: ending)
    guard let status = exchange.answer.finalStatus, exchange.answer.hasFinalHead, exchange.body.failure == nil
    else { return .result(result) }
    let step = Redirect.next(
      status: status, location: exchange.answer.header("location"), method: exchange.method,
      from: exchange.url, requestWentWhole: exchange.hasLeft, hop: hops)
    switch step {
    case .answer:
      return .result(result)
    case .refused(let message):
      result.failure = TransferFailure(.afterRequestBegan, message)
      return .result(result)
    case .follow(let url, let method, let withBody, let crossOrigin):
      var headers = exchange.headers
      if crossOrigin { headers = Redirect.headersForOtherOrigin(headers) }
      if !withBody { headers.remove("Content-Type") }
      // A hop that went on without the body stays without it.
      let repeatsBody = withBody && exchange.body.length > 0
      return .hop(Hop(url: url, method: method, headers: headers, withBody: repeatsBody))
    }
  }

  /// The attempt's result if it ends with this exchange. libcurl's handle still holds what it knows of it.
  func result(of ending: Ending) -> AttemptResult {
    exchange.body.lookAgain()
    let answer = self.answer(of: ending)
    var failure = self.failure(of: ending)
    if failure == nil && answer == nil {
      failure = TransferFailure(.afterRequestBegan, "the connection ended without a final answer")
    } else if failure == nil && !exchange.hasLeft {
      failure = TransferFailure(.afterRequestBegan, "the answer came before the whole request was sent")
    }
    return result(answer: answer, failure: failure)
  }

  /// What is known now, with `failure` as the reason of the end.
  func result(answer: Answer?, failure: TransferFailure?) -> AttemptResult {
    AttemptResult(
      answer: answer, failure: failure, requestWentWhole: exchange.hasLeft, bytesSent: bytesSent,
      bytesReceived: bytesReceived, connectionWasReused: exchange.connectionWasReused,
      answeredAfterMs: exchange.answeredAfterMs)
  }

  /// Only a complete final head counts (D12), but for one that exceeds a limit, whose status says enough.
  private func answer(of ending: Ending) -> Answer? {
    let buffer = exchange.answer
    if exceedsLimit(ending) { return buffer.answer(.unusable) }
    guard buffer.hasFinalHead else { return nil }
    switch ending {
    case .curl(CURLE_OK) where !exchange.isUnpackedToItsEnd:
      return buffer.answer(.cut)
    case .curl(CURLE_OK):
      return buffer.answer(buffer.decodedBytes > buffer.body.count ? .capped : .whole)
    case .curl(CURLE_BAD_CONTENT_ENCODING), .curl(CURLE_WRITE_ERROR):
      return buffer.answer(.unusable)
    case .curl, .deadline:
      let isWhole = (buffer.isWhole || hasAnnouncedLength) && exchange.isUnpackedToItsEnd
      return buffer.answer(isWhole ? .whole : .cut)
    }
  }

  /// The body is as long as its Content-Length said, so that what broke came after it.
  private var hasAnnouncedLength: Bool {
    let announced = ccurl_get_offset(easy.pointer, CURLINFO_CONTENT_LENGTH_DOWNLOAD_T)
    return announced >= 0 && announced == ccurl_get_offset(easy.pointer, CURLINFO_SIZE_DOWNLOAD_T)
  }

  private func exceedsLimit(_ ending: Ending) -> Bool {
    if exchange.answer.exceedsLimit { return true }
    // libcurl's word for one header line of over 100 KB.
    guard case .curl(CURLE_OUT_OF_MEMORY) = ending else { return false }
    return exchange.answer.finalStatus != nil && !exchange.answer.hasFinalHead
  }

  private func failure(of ending: Ending) -> TransferFailure? {
    if let failure = exchange.body.failure { return failure }
    let cause: TransferFailure.Cause = exchange.hasBegun || hops > 0 ? .afterRequestBegan : .beforeRequest
    if exceedsLimit(ending) { return TransferFailure(cause, "the answer exceeds a limit of the transport") }
    switch ending {
    case .deadline(let end):
      return TransferFailure(cause, exchange.deadlines.message(for: end))
    case .curl(CURLE_OK):
      return exchange.isUnpackedToItsEnd
        ? nil : TransferFailure(cause, "the answer's gzip stream stops early")
    case .curl where exchange.resendWasRefused:
      return TransferFailure(cause, "the connection ended before a byte of an answer came")
    case .curl(let code):
      let fault = CurlFault(
        code: code, hasBegun: exchange.hasBegun,
        verifyResult: ccurl_get_long(easy.pointer, CURLINFO_SSL_VERIFYRESULT),
        proxyStatus: ccurl_get_long(easy.pointer, CURLINFO_HTTP_CONNECTCODE),
        connectMs: transmission.timeouts.connectMs)
      return TransferFailure(cause, fault.message)
    }
  }
}
