package import JSONText

/// A failed request, as `error` tells it (protocol.md section 4). Programs switch on `kind`; `message` is
/// for people and never holds a header value, a query string or body bytes.
package struct RPCError: Error, Sendable {
  /// The number of JSON-RPC.
  package let code: Int

  /// The word that goes to `data.code`, such as `E_INVALID`.
  package let kind: String

  package let message: String

  /// The member that is meant, such as `params.vars[3].a`; goes to `data.path`.
  package let path: String?

  /// Further members of `data`, in order.
  package let extra: [(name: String, value: JSON)]

  package init(
    code: Int, kind: String, message: String, path: String? = nil, extra: [(name: String, value: JSON)] = []
  ) {
    self.code = code
    self.kind = kind
    self.message = message
    self.path = path
    self.extra = extra
  }

  /// The line is not JSON, or its id cannot be read.
  package static func parse(_ message: String, path: String? = nil) -> RPCError {
    RPCError(code: -32700, kind: "E_PARSE", message: message, path: path)
  }

  /// The line has more than `limit` bytes.
  package static func lineTooLong(limit: Int) -> RPCError {
    RPCError(code: -32700, kind: "E_LINE_TOO_LONG", message: "a line has at most \(limit) bytes")
  }

  /// JSON, but not a request.
  package static func request(_ message: String, path: String? = nil) -> RPCError {
    RPCError(code: -32600, kind: "E_REQUEST", message: message, path: path)
  }

  /// The id of a request that is not answered yet. It is answered with `id: null`, so that the first caller
  /// is not answered wrongly; `data.id` is the id.
  package static func duplicateID(_ id: RequestID) -> RPCError {
    RPCError(
      code: -32600, kind: "E_DUPLICATE_ID", message: "id must differ from those of the unanswered requests",
      path: "id", extra: [("id", id.raw)])
  }

  /// Input that cannot be sent or understood; `message` names the member and says what is right.
  package static func invalid(_ path: String, _ message: String) -> RPCError {
    RPCError(code: -32602, kind: "E_INVALID", message: message, path: path)
  }
}
