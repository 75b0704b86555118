import JSONText
import Testing

@testable import QueueModel

@Suite("Ids and keys")
struct IdentifierTests {
  @Test("D10: 1 to 256 bytes of UTF-8")
  func lengths() throws {
    for (text, isValid) in [
      ("", false), ("a", true), (String(repeating: "a", count: 256), true),
      (String(repeating: "a", count: 257), false),
      (String(repeating: "é", count: 128), true), (String(repeating: "é", count: 129), false),
      ("../a\u{0}b", true),
    ] {
      let value = JSON { $0.value(text) }
      #expect(try refusedPath { _ = try EntryID(reading: value, path: "id") } == (isValid ? nil : "id"))
      #expect(
        try refusedPath { _ = try EntryKey(reading: value, path: "keys[2]") } == (isValid ? nil : "keys[2]"))
    }
  }

  @Test("D10: a string", arguments: ["1", "null", "[]", "{}", "true"])
  func kinds(text: String) throws {
    #expect(try refusedPath { _ = try EntryID(reading: json(text), path: "id") } == "id")
  }

  @Test("D10: compared byte by byte, never by Unicode equivalence")
  func comparison() {
    let composed = EntryID("\u{E9}")
    let decomposed = EntryID("e\u{301}")
    #expect(composed.text == decomposed.text)
    #expect(composed != decomposed)
    #expect(Set([composed, decomposed]).count == 2)
    #expect(EntryID("a") < EntryID("b"))
  }
}
