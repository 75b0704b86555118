import JSONText
import Testing

@Suite("JSON pointers (RFC 6901)")
struct PointerTests {
  private static let document =
    #"{"foo":["bar","baz"],"":0,"a/b":1,"c%d":2,"m~n":8," ":7,"é":[{"x":null}],"01":{"0":9},"d":1,"d":2}"#

  @Test(
    "D46: the examples of the RFC, and what names nothing",
    arguments: [
      ("/foo", #"["bar","baz"]"#), ("/foo/0", #""bar""#), ("/", "0"), ("/a~1b", "1"), ("/c%d", "2"),
      ("/m~0n", "8"), ("/ ", "7"), ("/é/0/x", "null"), ("/01/0", "9"), ("/d", "1"), ("/foo/2", nil),
      ("/foo/-", nil), ("/foo/00", nil), ("/foo/+1", nil), ("/foo/0/x", nil), ("/no", nil), ("/m~01n", nil),
      ("/foo/99999999999999999999", nil),
    ])
  func values(_ text: String, _ expected: String?) throws {
    let json = try JSON(checking: Array(PointerTests.document.utf8))
    #expect(JSONPointer(text)?.value(in: json)?.description == expected)
    #expect(JSONPointer(text) != nil)
    #expect(JSONPointer("")?.value(in: json) == json)
  }

  @Test(
    "D46: a pointer begins with a slash, and a tilde escapes", arguments: ["a", "/~", "/~2", "~0", " /a"])
  func malformed(_ text: String) { #expect(JSONPointer(text) == nil) }
}
