import JSONText
import Testing

@Suite struct DigestTests {
  private static let texts = [
    "null", "true", "false", "0", "1", "1.0", "\"\"", "\"1\"", "\"null\"", "[]", "[[]]", "[1]", "[1,2]",
    "[2,1]",
    "[[1],2]", "[1,[2]]", "{}", "[{}]", #"{"a":1}"#, #"{"a":2}"#, #"{"a":1,"b":2}"#, #"{"a":{"b":2}}"#,
    #"{"":"a"}"#, #"{"a":""}"#, #"{"a":1,"a":2}"#, #"{"a":2,"a":1}"#, #"["ab"]"#, #"["a","b"]"#,
    "[\"\u{e9}\"]", "[\"e\u{301}\"]",
  ]

  @Test("D42: values that are not equivalent have other digests")
  func differs() throws {
    let values = try Self.texts.map { try JSON(checking: Array($0.utf8)) }
    for (index, one) in values.enumerated() {
      for other in values[(index + 1)...] {
        #expect(one.equivalenceDigest != other.equivalenceDigest, "\(one) \(other)")
      }
    }
  }

  @Test(
    "D42, D5: values that are equivalent have the same digest",
    arguments: [
      ("[1, 2]", "[1,2]"), (#"{"a":1,"b":[{"c":2,"d":3}]}"#, #"{ "b":[{"d":3,"c":2}], "a":1 }"#),
      (#""\u0041""#, #""A""#),
    ])
  func same(_ one: String, _ other: String) throws {
    let (one, other) = (try JSON(checking: Array(one.utf8)), try JSON(checking: Array(other.utf8)))
    #expect(one.isEquivalent(to: other) && one.equivalenceDigest == other.equivalenceDigest)
  }
}
