import CCurl
import JSONText

@testable import QueueModel

/// Any JSON is refused with the name of a field, or is a request that the store gives back as it was and that
/// libcurl can take apart.
final class DescriptorTarget: FuzzTarget {
  private let url = curl_url()

  init() {}

  deinit { curl_url_cleanup(url) }

  private enum Kind: CaseIterable {
    case descriptor, enqueue, enqueues, configuration

    var shape: Shape {
      switch self {
      case .descriptor: .request
      case .enqueue: .enqueue
      case .enqueues: .list(.enqueue)
      case .configuration: .configuration
      }
    }

    var path: String {
      switch self {
      case .descriptor: "request"
      case .enqueue, .configuration: ""
      case .enqueues: "entries"
      }
    }
  }

  /// What is read; then its text, or choices that make one.
  func run(_ input: [UInt8]) throws {
    var choices = Choices(input)
    let kind = choices.one(of: Kind.allCases)
    let json: JSON
    if choices.bool() {
      guard let read = try? JSON(checking: choices.rest()) else { return }
      json = read
    } else {
      var writer = JSONWriter()
      kind.shape.write(&choices, &writer)
      do { json = try JSON(checking: writer.bytes) } catch { throw Broken("not written: \(error.reason)") }
    }
    let refusal: InvalidInput
    do {
      return try read(kind, json)
    } catch {
      guard let error = error as? InvalidInput else { throw error }
      refusal = error
    }
    try require(refusal.path.hasPrefix(kind.path), "a refusal names what was sent, not \(refusal.path)")
    // Only what is no object at all has no name.
    try require(!refusal.path.isEmpty || json.kind != .object, "a refusal names a field: \(refusal)")
    try require(!refusal.message.isEmpty, "a refusal says what is right")
  }

  private func read(_ kind: Kind, _ json: JSON) throws {
    func made() -> EntryID { EntryID("made") }
    switch kind {
    case .descriptor: try check(Descriptor(reading: json))
    case .enqueue: try check(Enqueue(reading: json, makeID: made).request)
    case .enqueues:
      for enqueue in try Enqueue.all(reading: json, path: "entries", makeID: made) {
        try check(enqueue.request)
      }
    case .configuration:
      let configuration = try ConfigurationChange(reading: json).applied(to: Configuration())
      let stored = try stored(configuration.storedText)
      try require(Configuration(stored: stored) == configuration, "a configuration is stored as it is")
    }
  }

  private func stored(_ text: [UInt8]) throws -> JSON {
    do { return try JSON(checking: text) } catch { throw Broken("what is stored is no JSON: \(error)") }
  }

  private func check(_ descriptor: Descriptor) throws {
    let text = descriptor.storedText
    let again: Descriptor
    do {
      again = try Descriptor(stored: stored(text), kind: descriptor.body.kind)
    } catch {
      throw Broken("what was accepted is not read again: \(error)")
    }
    try require(again.storedText == text, "what was accepted comes back as it was")
    for field in descriptor.headers.fields {
      try require(!field.value.utf8.contains { [0, 0x0A, 0x0D].contains($0) }, "a header has one line")
    }
    if let url = descriptor.url, !descriptor.boundOrigin { try check(url) }
    if case .parts(_, let parts) = descriptor.body { for part in parts { try check(part.url) } }
  }

  /// libcurl takes it, and sends it to the host that we take it for.
  private func check(_ sent: RequestURL) throws {
    let code = curl_url_set(url, CURLUPART_URL, sent.text, UInt32(CURLU_PATH_AS_IS))
    try require(code == CURLUE_OK, "libcurl refuses \(sent.text): \(code.rawValue)")
    let host = try part(CURLUPART_HOST)
    // libcurl has one spelling of an address, 0.0.0.1 for `1` and [::] for [::0]; here it stays as it came.
    let isAddress = host.utf8.allSatisfy { (0x30...0x39).contains($0) || $0 == UInt8(ascii: ".") }
    if isAddress || host.hasPrefix("[") { return }
    let origin = "\(try part(CURLUPART_SCHEME))://\(host):\(try part(CURLUPART_PORT))"
    try require(origin == sent.origin.text, "\(sent.text) goes to \(origin), not \(sent.origin)")
  }

  private func part(_ part: CURLUPart) throws -> String {
    var text: UnsafeMutablePointer<CChar>?
    guard curl_url_get(url, part, &text, UInt32(CURLU_DEFAULT_PORT)) == CURLUE_OK, let text else {
      throw Broken("libcurl finds no part \(part.rawValue) of the URL")
    }
    defer { curl_free(text) }
    return String(cString: text)
  }
}
