import JSONText
import Testing

@Suite struct ValueTests {
  @Test(
    "A-BODY-06: a value keeps the bytes that it was written with",
    arguments: [
      "9223372036854775807", "18446744073709551615", "123456789012345678901234567890", "1.0", "1.10", "-0",
      "1E5",
      #"{"b":1.0,"a":9007199254740993,"u":"a/b"}"#, #"{"z":null,"a":null,"z":1}"#, #"["\u0041","\/","a/b"]"#,
      #""\u0000""#, "{ \"a\" :\t[ 1 ,\r\n2 ] }", "[\"\u{E9}\",\"e\u{301}\"]",
    ])
  func fidelity(_ text: String) throws {
    let line = try json("{\"x\":1,\"vars\": \(text) ,\"y\":[\(text), \(text)]}")
    let value = try #require(line["vars"])
    #expect(string(value.text) == text)
    #expect(value.description.utf8.elementsEqual(text.utf8))
    let elements = try #require(line["y"]).elements().map { string($0.text) }
    #expect(elements.allSatisfy { $0.utf8.elementsEqual(text.utf8) })
    #expect(elements.count == 2)
    #expect(value.detached() == value)
    #expect(JSON(trusted: Array(" \(text)\n".utf8)) == value)
  }

  @Test(
    "A kind is told by the value itself",
    arguments: [
      ("{}", .object), ("[]", .array), ("\"\"", .string), ("-1", .number), ("0", .number), ("9.5", .number),
      ("true", .true), ("false", .false), ("null", .null),
    ] as [(String, JSON.Kind)])
  func kind(_ text: String, _ kind: JSON.Kind) throws {
    let value = try json(" \(text) ")
    #expect(value.kind == kind)
    #expect(value.isNull == (kind == .null))
    #expect(value.bool == (kind == .true ? true : kind == .false ? false : nil))
    #expect((value.string != nil) == (kind == .string))
    #expect((value.double != nil) == (kind == .number))
    #expect(value.members().contains { _ in true } == false)
    #expect(value.elements().contains { _ in true } == false)
    #expect(value["a"] == nil)
  }

  @Test(
    "An integer is read only from an integer's spelling, and only when it fits",
    arguments: [
      ("0", 0), ("-0", 0), ("7", 7), ("-12", -12), ("9007199254740991", 9_007_199_254_740_991),
      ("9223372036854775807", .max), ("-9223372036854775808", .min), ("9223372036854775808", nil),
      ("-9223372036854775809", nil), ("18446744073709551616", nil), ("92233720368547758070", nil),
      ("1.0", nil),
      ("1e2", nil), ("1E0", nil), ("\"1\"", nil), ("true", nil), ("null", nil), ("[1]", nil),
    ] as [(String, Int64?)])
  func integer(_ text: String, _ value: Int64?) throws {
    #expect(try json(text).integer == value)
  }

  @Test(
    "A double is the nearest one", arguments: [("1.5", 1.5), ("-2e3", -2000), ("0.1", 0.1), ("1e-400", 0)])
  func double(_ text: String, _ value: Double) throws {
    #expect(try json(text).double == value)
  }

  @Test(
    "A string is decoded",
    arguments: [
      (#""\"\\\/\b\f\n\r\t""#, "\"\\/\u{8}\u{C}\n\r\t"), (#""\u0000\u00e9\u20AC""#, "\u{0}\u{E9}\u{20AC}"),
      (#""a\ud83d\ude00b""#, "a\u{1F600}b"), (#""\uD800\uDC00\uDBFF\uDFFF""#, "\u{10000}\u{10FFFF}"),
      ("\"a\u{2028}\u{7F}\"", "a\u{2028}\u{7F}"), (#""\\u0041""#, "\\u0041"), (#""\u005cu0041""#, "\\u0041"),
    ])
  func decoded(_ text: String, _ value: String) throws {
    let decoded = try #require(try json(text).string)
    #expect(decoded.utf8.elementsEqual(value.utf8))
  }

  @Test("A string with a lone surrogate has no value")
  func loneSurrogate() throws {
    #expect(try JSON.scan(Array(#""a\ud800""#.utf8)).value.string == nil)
  }

  @Test("Members come decoded, in order, repeated ones too")
  func members() throws {
    let object = try json(#" { "b" : 1 , "a" : { "b" : [ "}" ] } , "\u0062":null,"":"x" } "#)
    let members = object.members().map { "\($0.key)=\($0.value)" }
    #expect(members == ["b=1", #"a={ "b" : [ "}" ] }"#, "b=null", "=\"x\""])
    #expect(object["b"]?.integer == 1)
    #expect(object[""]?.string == "x")
    #expect(object["a"]?["b"]?.elements().map(\.string) == ["}"])
    #expect(object["c"] == nil)
  }

  @Test("D10: names compare byte by byte, never by Unicode equivalence")
  func namesCompareByteByByte() throws {
    let object = try json("{\"e\u{301}\":1,\"\\u00e9\":2,\"n\":3}")
    #expect(object["\u{E9}"]?.integer == 2)
    #expect(object["e\u{301}"]?.integer == 1)
    #expect(object.duplicateMember() == nil)
    #expect(object["n\u{0}"] == nil)
  }

  @Test("D10: members found once and kept are those that are looked up one by one")
  func indexed() throws {
    let object = try json(#" {"b":1,"a":{"b":2},"\u0062":3,"x\\":4,"":5,"e\u00e9":6,"bb":7} "#)
    let index = object.indexed()
    for name in ["b", "a", "", "x\\", "x\\\\", "e\u{E9}", "e\u{65}\u{301}", "bb", "bbb", "\\u0062", "c"] {
      #expect(index[name] == object[name])
    }
    #expect(index["b"]?.integer == 1)
    #expect(index["x\\"]?.integer == 4)
    #expect(index["\\u0062"] == nil)
    #expect(try json("[1]").indexed()["a"] == nil)
  }

  @Test("A repeated member is found among many", arguments: [15, 16, 17, 40])
  func duplicateOfMany(_ count: Int) throws {
    let members = (0..<count).map { #""m\#($0)":0"# }.joined(separator: ",")
    #expect(try json("{\(members)}").duplicateMember() == nil)
    #expect(try json(#"{\#(members),"m\#(count - 1)":1}"#).duplicateMember() == "m\(count - 1)")
    #expect(try json(#"{\#(members),"\u006d0":1}"#).duplicateMember() == "m0")
  }

  @Test(
    "A repeated member is found by its decoded name, on this level only",
    arguments: [
      ("{}", nil), (#"{"a":1,"b":2}"#, nil), (#"{"a":1,"b":2,"a":3}"#, "a"), (#"{"a":1,"\u0061":2}"#, "a"),
      (#"{"x":{"a":1,"a":2},"y":[{"b":1,"b":1}]}"#, nil), (#"{"a":{"a":1}}"#, nil), (#"{"":1,"":1}"#, ""),
      (#"{"c":1,"b":1,"a":1,"b":2,"c":2}"#, "b"), (#"["a","a"]"#, nil),
    ])
  func duplicateMember(_ text: String, _ name: String?) throws {
    #expect(try json(text).duplicateMember() == name)
  }

  @Test("Equal means equal bytes, whatever the storage around them")
  func equality() throws {
    let line = try json(#"{"a":[1,2],"b":[1,2],"c":[1, 2]}"#)
    #expect(line["a"] == line["b"])
    #expect(line["a"] != line["c"])
    #expect(try line["a"] == json("[1,2]"))
  }

  @Test(
    "D5: JSON values compare without regard to spelling, but for numbers",
    arguments: [
      ("1", "1", true), ("1", "1.0", false), ("0", "-0", false), ("1e5", "1E5", false),
      ("true", "false", false),
      ("null", "0", false), (#""a""#, #""\u0061""#, true), (#""\ud83d\ude00""#, "\"\u{1F600}\"", true),
      (#""a\/b""#, #""a/b""#, true), ("\"\u{E9}\"", "\"e\u{301}\"", false), (#""a""#, #""b""#, false),
      ("[1,2]", "[ 1 , 2 ]", true), ("[1,2]", "[2,1]", false), ("[1]", "[1,1]", false), ("[]", "{}", false),
      (#"{"a":1,"b":2}"#, "{ \"b\" : 2,\n\"a\":1 }", true), (#"{"a":1}"#, #"{"a":1,"b":2}"#, false),
      (#"{"a":1,"b":2}"#, #"{"a":1,"c":2}"#, false), (#"{"a":null}"#, "{}", false),
      (#"{"\u0061":[{"x":1,"y":"\n"}]}"#, #"{"a":[{"y":"\u000a","x":1}]}"#, true),
      (#"{"a":1,"b":0,"a":2}"#, #"{"a":1,"a":2,"b":0}"#, true), (#"{"a":1,"a":2}"#, #"{"a":2,"a":1}"#, false),
      (#"{"a":1,"a":1}"#, #"{"a":1}"#, false), (#"{"a":1,"a":1,"b":1}"#, #"{"a":1,"b":1,"b":1}"#, false),
      (#""\ud800""#, #""\ud801""#, false), (#""\ud800""#, #""\uD800""#, true),
    ])
  func equivalence(_ left: String, _ right: String, _ same: Bool) throws {
    let one = try JSON.scan(Array(left.utf8)).value
    let two = try JSON.scan(Array(right.utf8)).value
    #expect(one.isEquivalent(to: two) == same)
    #expect(two.isEquivalent(to: one) == same)
    #expect(one.isEquivalent(to: one))
  }

  @Test("Values too deep to be kept compare without recursion to their depth")
  func deepEquivalence() throws {
    let open = [UInt8](repeating: 0x5B, count: 50_000)
    let close = [UInt8](repeating: 0x5D, count: 50_000)
    let one = try JSON.scan(open + close).value
    let two = try JSON.scan(open + [0x20] + close).value
    #expect(one.isEquivalent(to: one))
    #expect(!one.isEquivalent(to: two))
  }
}

extension ValueTests {
  @Test(
    "B163: numbers, nesting and escapes come out as they went in, and nothing is escaped that need not be")
  func deterministic() throws {
    let text =
      #"{"z":1,"a":1.0,"e":1E+2,"n":-0,"deep":[[{"x":[]}]],"html":"<a href='&'>/</a>","u":"\u00e9é"}"#
    let value = try JSON(checking: Array(text.utf8))
    #expect(value.description == text)
    var writer = JSONWriter()
    writer.object { object in
      for (name, member) in value.members() { object.member(name, member) }
    }
    #expect(String(decoding: writer.bytes, as: UTF8.self) == text)
    var fresh = JSONWriter()
    fresh.value("<a href='&'>/é")
    #expect(String(decoding: fresh.bytes, as: UTF8.self) == #""<a href='&'>/é""#)
    for malformed in ["{\"a\":}", "[1,]", "01", "\"\\x\"", "{\"a\" 1}"] {
      #expect(throws: (any Error).self) { try JSON(checking: Array(malformed.utf8)) }
    }
  }
}
