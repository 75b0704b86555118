import JSONRPC
import JSONText
import Testing

@Suite struct ReplyTests {
  private func id(_ text: String) throws -> RequestID {
    try #require(RequestID(try JSON(checking: Array(text.utf8))))
  }

  private func text(_ line: [UInt8]) -> String { String(decoding: line, as: UTF8.self) }

  @Test(
    "A result is one line with the id as it was written",
    arguments: ["9007199254740991", #""\u0061\/""#, "-0"])
  func result(_ spelling: String) throws {
    let line = Reply.result(id: try id(spelling)) { $0.object { $0.member("now", 1) } }
    #expect(text(line) == "{\"jsonrpc\":\"2.0\",\"id\":\(spelling),\"result\":{\"now\":1}}\n")
    #expect(
      text(Reply.result(id: try id("1"), .emptyObject)) == "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}\n")
  }

  @Test("An error has its word and its path in data, and id null when no id could be read")
  func error() throws {
    let invalid = Reply.error(id: try id("7"), .invalid("params.key", "params.key must be a string"))
    #expect(
      text(invalid)
        == #"{"jsonrpc":"2.0","id":7,"error":{"code":-32602,"message":"params.key must be a string","#
        + #""data":{"code":"E_INVALID","path":"params.key"}}}"# + "\n")
    let tooLong = Reply.error(id: nil, .lineTooLong(limit: 64))
    #expect(
      text(tooLong)
        == #"{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"a line has at most 64 bytes","#
        + #""data":{"code":"E_LINE_TOO_LONG"}}}"# + "\n")
  }

  @Test("An id in flight is refused with id null, and told in data")
  func duplicateID() throws {
    let error = RPCError.duplicateID(try id(#""\u0061""#))
    let reply = try JSON(checking: Reply.error(id: nil, error))
    #expect(reply["id"]?.isNull == true)
    #expect(reply["error"]?["code"]?.integer == -32600)
    #expect(reply["error"]?["data"]?["code"]?.string == "E_DUPLICATE_ID")
    #expect(reply["error"]?["data"]?["id"]?.description == #""\u0061""#)
  }

  @Test("A-RPC-05: no line holds a control character, DEL or a line separator but its own LF at the end")
  func oneLine() throws {
    let hostile = "\u{0}\n\r\t\u{1F}\u{7F}\u{2028}\u{2029}\u{85}\u{1F600}"
    let stored = try JSON(checking: Array("{\"a\":\"\u{7F}\u{2028}\u{2029}\",\r\n\"b\":1}".utf8))
    let id = try id("\"\u{7F}\u{2028}\"")
    let error = RPCError(code: 1, kind: hostile, message: hostile, path: hostile, extra: [(hostile, stored)])
    let lines = [
      Reply.result(id: id) { $0.value(hostile) }, Reply.result(id: id, stored),
      Reply.error(id: id, error),
      JSONRPC.notification(method: hostile) { $0.object { $0.member(hostile, stored) } },
    ]
    for line in lines {
      #expect(line.last == 0x0A)
      #expect(!line.dropLast().contains { $0 < 0x20 || $0 == 0x7F })
      let scalars = text(line).unicodeScalars
      #expect(!scalars.contains("\u{2028}") && !scalars.contains("\u{2029}"))
      #expect(throws: Never.self) { try JSON(checking: line) }
    }
  }

  @Test("A notification has no id")
  func notification() {
    let line = JSONRPC.notification(method: "progress") { $0.object { $0.member("id", "a") } }
    #expect(text(line) == "{\"jsonrpc\":\"2.0\",\"method\":\"progress\",\"params\":{\"id\":\"a\"}}\n")
  }
}
