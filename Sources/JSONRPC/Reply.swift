package import JSONText

/// The lines that answer a request; each ends in LF.
package enum Reply {
  /// `write` writes the result: exactly one value.
  package static func result(id: RequestID, _ write: (inout JSONWriter) -> Void) -> [UInt8] {
    line(id) { $0.member("result", write) }
  }

  /// A result that is ready as text.
  package static func result(id: RequestID, _ result: JSON) -> [UInt8] {
    line(id) { $0.member("result", result) }
  }

  /// No `id` is `id: null`.
  package static func error(id: RequestID?, _ error: RPCError) -> [UInt8] {
    line(id) { writer in
      writer.member("error") { writer in
        writer.object { writer in
          writer.member("code", error.code)
          writer.member("message", error.message)
          writer.member("data") { writeDetails(of: error, &$0) }
        }
      }
    }
  }

  private static func writeDetails(of error: RPCError, _ writer: inout JSONWriter) {
    writer.object { writer in
      writer.member("code", error.kind)
      if let path = error.path { writer.member("path", path) }
      for (name, value) in error.extra { writer.member(name, value) }
    }
  }

  private static func line(_ id: RequestID?, _ body: (inout JSONWriter) -> Void) -> [UInt8] {
    var writer = JSONWriter()
    writer.object { writer in
      writer.member("jsonrpc", "2.0")
      writer.member("id", id?.raw ?? .null)
      body(&writer)
    }
    writer.bytes.append(0x0A)
    return writer.bytes
  }
}
