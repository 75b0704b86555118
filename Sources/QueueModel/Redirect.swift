/// Which answers send a request somewhere else, and with what (D20). The target is the next hop of the same
/// attempt.
package enum Redirect {
  package enum Step: Sendable, Equatable {
    /// Send again to `url`; to another origin only with `headersForOtherOrigin`.
    case follow(url: RequestURL, method: HTTPMethod, withBody: Bool, crossOrigin: Bool)
    /// The answer in hand is the answer.
    case answer
    /// The answer in hand is the answer; the text says why its target was not taken, without naming it.
    case refused(String)
  }

  /// Redirects that one attempt follows.
  package static let hopLimit = 10

  /// The only headers that go along to another origin.
  private static let crossOriginNames = ["Content-Type", "Accept", "X-Request-Id", "Idempotency-Key"]

  /// - Parameters:
  ///   - location: The `Location` header as it came, if there was one.
  ///   - method: Of the request that was answered, sent to `from`.
  ///   - hop: Redirects already followed in this attempt.
  package static func next(
    status: Int, location: String?, method: HTTPMethod, from: RequestURL, requestWentWhole: Bool, hop: Int
  ) -> Step {
    guard let location, let nextMethod = nextMethod(status, method, requestWentWhole) else { return .answer }
    guard hop < hopLimit else { return .answer }
    let target = URLReference.resolve(location, against: from.text)
    let scheme = target.prefix { $0 != ":" }.lowercased()
    guard scheme == "http" || scheme == "https" else {
      return .refused("redirect refused: its target is neither http nor https")
    }
    if scheme == "http" && from.origin.text.hasPrefix("https:") {
      return .refused("redirect refused: it leads from https to http")
    }
    guard let url = try? RequestURL(reading: target, path: "location") else {
      return .refused("redirect refused: its target is not a URL that can be sent")
    }
    return .follow(
      url: url, method: nextMethod, withBody: nextMethod == method, crossOrigin: url.origin != from.origin)
  }

  /// Leaves only what another origin may see.
  package static func headersForOtherOrigin(_ headers: HeaderFields) -> HeaderFields {
    var kept = HeaderFields()
    for field in headers.fields
    where crossOriginNames.contains(where: { HeaderFields.sameName($0, field.name) }) {
      kept.set(field.name, field.value)
    }
    return kept
  }

  /// nil when this status is not followed for this method.
  private static func nextMethod(_ status: Int, _ method: HTTPMethod, _ requestWentWhole: Bool) -> HTTPMethod?
  {
    switch (status, method) {
    case (307, _), (308, _): method
    // RFC 9110, section 15.4 lets a client turn a POST into a GET here, which would say yes to a body that
    // nobody stored.
    case (301, .get), (301, .put), (301, .delete), (302, .get), (302, .put), (302, .delete): method
    case (303, _): requestWentWhole ? .get : nil
    default: nil
    }
  }
}
