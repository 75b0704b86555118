import JSONText

/// What a value is expected to look like, so that an input can be made into a text that nearly fits.
indirect enum Shape: Sendable {
  case object([(String, Shape)])
  /// An object whose members have names of their own.
  case map([String], Shape)
  case list(Shape)
  case word([String])
  case integer, number, bool, text

  /// Writes a value; one in sixteen is of another kind.
  func write(_ choices: inout Choices, _ writer: inout JSONWriter, depth: Int = 0) {
    let first = choices.byte()
    if first >= 0xF0 || depth > 6 { return Shape.writeAny(&choices, &writer) }
    switch self {
    case .object(let members):
      writer.object { writer in
        for (name, shape) in members where choices.byte() < 0x60 {
          writer.key(name)
          shape.write(&choices, &writer, depth: depth + 1)
        }
        guard first >= 0xE8 else { return }
        writer.key(choices.text())
        Shape.writeAny(&choices, &writer)
      }
    case .map(let names, let shape):
      writer.object { writer in
        for _ in 0..<(first & 7) {
          writer.key(choices.bool() ? choices.one(of: names) : choices.text())
          shape.write(&choices, &writer, depth: depth + 1)
        }
      }
    case .list(let shape):
      writer.array { for _ in 0..<(first & 3) { shape.write(&choices, &$0, depth: depth + 1) } }
    case .word(let words): writer.value(first < 0xC0 ? choices.one(of: words) : choices.text())
    case .integer:
      writer.value(first < 0x80 ? Int64(choices.byte()) * 3 : choices.int64() >> choices.below(64))
    case .number: writer.value(Double(choices.byte()) / Double(1 + first & 15))
    case .bool: writer.value(first & 1 == 1)
    case .text: writer.value(choices.text())
    }
  }

  private static func writeAny(_ choices: inout Choices, _ writer: inout JSONWriter) {
    switch choices.below(8) {
    case 0: writer.null()
    case 1: writer.value(choices.bool())
    case 2: writer.value(choices.int64())
    case 3: writer.value(choices.text())
    case 4: writer.array { $0.value(choices.text()) }
    case 5: writer.object { $0.member(choices.text(), 1) }
    default:
      // What the input says by itself, if that is JSON.
      if let json = try? JSON(checking: choices.run()) { writer.raw(json) } else { writer.null() }
    }
  }
}

extension Shape {
  static let request: Shape = .object([
    ("url", url), ("method", .word(["POST", "PUT", "PATCH", "DELETE", "GET", "post"])), ("headers", headers),
    ("data", .map(["$bind", "a"], .word(["one", "two"]))),
    ("form", .list(field)), ("file", path), ("parts", .list(part)),
    ("accept", .list(.object([("status", .integer), ("bodyIncludes", .text)]))), ("expiresAt", .integer),
    ("retry", retry), ("wifiOnly", .bool), ("priority", .word(["high", "normal", "low"])),
    ("timeouts", .object([("connectMs", .integer), ("stallMs", .integer), ("responseMs", .integer)])),
    ("idempotencyKey", .text), ("staging", .word(["copy", "move", "reference"])), ("boundOrigin", .bool),
  ])

  static let enqueue: Shape = .object([
    ("id", .text), ("key", .word(["k", "k2"])), ("vars", .map(["a"], .text)), ("request", request),
    ("after", .list(.word(["a", "b"]))), ("onFailure", .word(["wait", "settle"])),
    (
      "bind",
      .map(["one", "two"], .object([("entry", .word(["a", "b"])), ("pointer", .word(["", "/a/0"]))]))
    ),
    ("lane", .text), ("group", .text), ("weight", .number), ("deadlineMs", .integer),
    ("groupDeadlineMs", .integer),
  ])

  static let configuration: Shape = .object([
    ("lifetimeMs", .integer), ("retry", retry),
    ("concurrency", .object(["total", "reservedHigh", "partsPerEntry", "perOrigin"].map { ($0, .integer) })),
    ("timeouts", .object([("connectMs", .integer), ("stallMs", .integer), ("responseMs", .integer)])),
    (
      "tls",
      .object([
        ("caFile", path),
        (
          "hosts",
          .map(
            ["a.example", "[::1]"],
            .object([("certFile", path), ("keyFile", path), ("pinnedPublicKeys", .list(.text))]))
        ),
      ])
    ), ("proxy", .word(["http://proxy:8080", "socks5h://p"])), ("http2", .bool),
  ])

  private static let url: Shape = .word([
    "https://a.example/p?q=1", "http://[::1]:8080/{one}", "http://\u{e4}.example/\u{20ac}", "{one}",
    "HTTP://A:80", "https://a.example/%41/../b#f", "http://1.2.3.4:65535",
  ])

  private static let path: Shape = .word(["/a", "file:///a%20b", "/\u{e4}", "file://localhost/%ff"])
  private static let headers: Shape = .map(["A", "content-type", "Host", "Proxy-A", "x-{one}"], .text)

  private static let field: Shape = .object([
    ("name", .text), ("contentType", .word(["text/plain", "a/b; c=\"d\""])), ("string", .text),
    ("path", path), ("fileName", .text),
  ])

  private static let part: Shape = .object([
    ("url", url), ("headers", headers),
    ("range", .object([("start", .integer), ("end", .integer)])),
  ])

  private static let retry: Shape = .object([
    ("backoff", .object([("baseMs", .integer), ("maxMs", .integer), ("jitter", .number)])),
    ("terminalHttp", .object([("exempt", .list(.integer))])),
    (
      "transient",
      .list(.object([("status", .integer), ("bodyIncludes", .text), ("maxRetries", .integer)]))
    ),
  ])
}
