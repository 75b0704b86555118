import JSONRPC
import JSONText
import Testing

@Suite struct RequestIDTests {
  private func id(_ text: String) throws -> RequestID? { RequestID(try JSON(checking: Array(text.utf8))) }

  @Test(
    "An id is a string of at most 128 bytes or an integer within 2^53-1, and is kept as it was written",
    arguments: [
      "0", "-0", "1", "-1", "2147483648", "9007199254740991", "-9007199254740991", "\"\"", "\"0\"", "\"a\"",
      #""\u0061\/""#, #""\ud83d\ude00""#, "\"" + String(repeating: "a", count: 128) + "\"",
      "\"" + String(repeating: "\u{E9}", count: 64) + "\"",
      "\"" + String(repeating: #"\u0061"#, count: 128) + "\"",
    ])
  func accepted(_ text: String) throws {
    let id = try #require(try id(text))
    #expect(id.raw.description == text)
  }

  @Test(
    "Nothing else is an id",
    arguments: [
      "null", "true", "false", "1.0", "1.5", "1e2", "-1E0", "9007199254740992", "-9007199254740992",
      "9223372036854775808", "{}", "[]", "[1]", "\"" + String(repeating: "a", count: 129) + "\"",
      "\"" + String(repeating: "\u{E9}", count: 65) + "\"",
    ])
  func refused(_ text: String) throws {
    #expect(try id(text) == nil)
  }

  @Test(
    "Ids are equal by their values, byte by byte, and a string is never a number",
    arguments: [
      (#""a""#, #""\u0061""#, true), ("1", "1", true), ("0", "-0", true), ("1", "\"1\"", false),
      ("\"a\"", "\"b\"", false), ("\"\u{E9}\"", "\"e\u{301}\"", false), ("1", "2", false),
    ])
  func equality(_ left: String, _ right: String, _ same: Bool) throws {
    #expect((try id(left) == id(right)) == same)
    #expect(Set([try id(left), try id(right)]).count == (same ? 1 : 2))
  }

  @Test("An id lets go of the line that it came in")
  func detached() throws {
    let line = try JSON(checking: Array("{\"id\":7,\"x\":\"\(String(repeating: "a", count: 1000))\"}".utf8))
    let raw = try #require(line["id"])
    let id = try #require(RequestID(raw))
    #expect(raw.text.startIndex > 0)
    #expect(id.raw.text.startIndex == 0)
    #expect(id.raw == raw)
  }

  @Test("An id in flight is refused until its request is answered, whatever its spelling")
  func inFlight() throws {
    var table = InFlight()
    let first = try #require(try id(#""a""#))
    let again = try #require(try id(#""\u0061""#))
    let other = try #require(try id("1"))
    let begun = [table.begin(first), table.begin(again), table.begin(other)]
    #expect(begun == [true, false, true])
    #expect(table.contains(again))
    #expect(table.count == 2)

    table.end(again)
    #expect(!table.contains(first))
    let begunAgain = table.begin(first)
    #expect(begunAgain)
    for id in [first, first, other] { table.end(id) }
    #expect(table.count == 0)
  }
}
